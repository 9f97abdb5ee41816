"""/api/service-accounts on the wire: administration of accounts and keys, and what nobody may give."""

from datetime import timedelta

import pytest

from adapters.memory.clock import MovableClock
from domain.scope import EveryTenant
from tests.http.identity.service_accounts.service_accounts import by, code_of, make_account, make_key
from tests.http.two_tenants import TwoTenants

ACCOUNTS = "/api/service-accounts"
UNKNOWN = "01900000-0000-7000-8000-000000000000"


def clock_of(tenants: TwoTenants) -> MovableClock:
    clock = tenants.app.adapters.clock
    assert isinstance(clock, MovableClock)
    return clock


async def audited(tenants: TwoTenants) -> list[str]:
    answer = await tenants.call("admin", "GET", "/api/audit-events?pageSize=100&sort=occurredAt:asc")
    return [line["action"] for line in answer.json()["data"]["items"]]


@pytest.mark.promise("GET /api/service-accounts")
@pytest.mark.promise("POST /api/service-accounts")
@pytest.mark.promise("GET /api/service-accounts/{account_id}")
@pytest.mark.promise("PUT /api/service-accounts/{account_id}")
@pytest.mark.promise("DELETE /api/service-accounts/{account_id}")
async def test_an_account_is_made_read_changed_and_deleted(tenants: TwoTenants) -> None:
    body = {"name": "Nightly import", "description": "ERP", "roles": ["Reader"]}
    made = await tenants.call("admin", "POST", ACCOUNTS, body)
    assert made.status_code == 201
    account = made.json()["data"]
    assert made.headers["location"] == f"{ACCOUNTS}/{account['id']}"
    assert account == {
        **body,
        "id": account["id"],
        "isActive": True,
        "createdAt": account["createdAt"],
        "createdBy": tenants.users["admin"],
        "lastUsedAt": None,
        "keys": 0,
        "nextKeyEndsAt": None,
        "may": {"change": True, "remove": True},
    }
    path = f"{ACCOUNTS}/{account['id']}"
    assert (await tenants.call("admin", "GET", path)).json()["data"] == account
    listed = (await tenants.call("admin", "GET", f"{ACCOUNTS}?role=Reader&search=erp&sortBy=name")).json()["data"]
    assert (listed["items"], listed["totalCount"], listed["totalPages"]) == ([account], 1, 1)
    changed = await tenants.call("admin", "PUT", path, {"name": "Import", "roles": [], "isActive": False})
    assert changed.json()["data"] == {**account, "name": "Import", "roles": [], "isActive": False}
    assert (await tenants.call("admin", "DELETE", path)).status_code == 200
    assert (await tenants.call("admin", "GET", path)).status_code == 404
    actions = [action for action in await audited(tenants) if action.startswith("service-account.")]
    assert actions == ["service-account.created", "service-account.changed", "service-account.deleted"]


@pytest.mark.parametrize(
    ("whom", "role", "given"),
    [
        ("admin", "Admin", {"change", "remove"}),
        ("keeper", "keeper", {"change", "remove"}),
        ("keeper", "Reader", set()),
        ("looker", "Member", set()),
    ],
)
async def test_a_service_account_lists_the_actions_allowed_to_the_caller(
    tenants: TwoTenants, whom: str, role: str, given: set[str]
) -> None:
    every = [f"{action}:service-accounts" for action in ("read", "update", "delete")]
    for name, permissions in (("keeper", every), ("looker", every[:1])):
        await tenants.make_role(name, "acme", permissions)
        await tenants.make_user(name, "acme", [name])
        await tenants.log_in(name, "acme")
    account = await make_account(tenants, roles=[role])
    path = f"{ACCOUNTS}/{account['id']}"
    listed = (await tenants.call(whom, "GET", ACCOUNTS)).json()["data"]["items"]
    for item in ((await tenants.call(whom, "GET", path)).json()["data"], *listed):
        assert {name for name, is_given in item["may"].items() if is_given} == given
    for right, method, below, body in (
        ("change", "POST", "/keys", {"name": "key"}),
        ("change", "PUT", "", {"isActive": False}),
        ("remove", "DELETE", "", None),
    ):
        answer = await tenants.call(whom, method, f"{path}{below}", body)
        assert answer.is_success == (right in given), (right, answer.text)


@pytest.mark.promise(
    "keys, impersonation: a key is made for the account of the path and the tenant of the caller; an unknown field, "
    "such as userId, is refused"
)
async def test_wrong_bodies_name_every_field(tenants: TwoTenants) -> None:
    wrong = await tenants.call("admin", "POST", ACCOUNTS, {"name": " x", "roles": [], "userId": UNKNOWN})
    assert {error["field"] for error in wrong.json()["errors"]} == {"userId"}
    assert (await tenants.call("admin", "POST", ACCOUNTS, {"name": "", "roles": []})).status_code == 400
    assert (await tenants.call("admin", "POST", ACCOUNTS, {"name": "x"})).status_code == 400
    assert (await tenants.call("admin", "POST", ACCOUNTS, {"name": "x", "roles": ["Foreign"]})).status_code == 400
    account = await make_account(tenants)
    body = {"name": "", "permissions": ["Read"], "networks": ["10.0.0.1/8", "x"], "expiresAt": "2020-01-01T00:00:00Z"}
    answer = await tenants.call("admin", "POST", f"{ACCOUNTS}/{account['id']}/keys", body)
    assert {error["field"] for error in answer.json()["errors"]} == {
        "name",
        "permissions[0]",
        "networks[0]",
        "networks[1]",
        "expiresAt",
    }
    for empty in ("permissions", "networks"):
        answer = await tenants.call("admin", "POST", f"{ACCOUNTS}/{account['id']}/keys", {"name": "k", empty: []})
        assert code_of(answer) == "VALIDATION_ERROR"


@pytest.mark.promise("GET /api/service-accounts/{account_id}/keys")
@pytest.mark.promise("POST /api/service-accounts/{account_id}/keys")
async def test_a_key_is_shown_once_and_listed_without_its_text(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    made = await make_key(tenants, account, networks=["192.0.2.0/24", "127.0.0.1"], permissions=["read:products"])
    assert made["key"].startswith(made["start"])
    assert (len(made["start"]), made["networks"]) == (12, ["192.0.2.0/24", "127.0.0.1/32"])
    listed = (await tenants.call("admin", "GET", f"{ACCOUNTS}/{account['id']}/keys")).json()["data"]
    assert listed == [{name: value for name, value in made.items() if name != "key"}]
    assert (await tenants.call("admin", "GET", f"{ACCOUNTS}/{account['id']}")).json()["data"]["keys"] == 1


@pytest.mark.promise("GET /api/service-accounts/{account_id}")
@pytest.mark.promise(
    "keys, impersonation: a key is made for the account of the path and the tenant of the caller; an unknown field, "
    "such as userId, is refused"
)
@pytest.mark.promise(
    "keys, impersonation: a key of one tenant opens nothing of another, on every route of every entity, and its "
    "account does not exist there"
)
async def test_a_key_of_a_tenant_and_its_account_do_not_exist_for_another(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    key = await make_key(tenants, account)
    path = f"{ACCOUNTS}/{account['id']}"
    for method, place, body in (
        ("GET", path, None),
        ("PUT", path, {"isActive": False}),
        ("DELETE", path, None),
        ("GET", f"{path}/keys", None),
        ("POST", f"{path}/keys", {"name": "mine"}),
        ("POST", f"{path}/keys/{key['id']}/rotate", {}),
        ("DELETE", f"{path}/keys/{key['id']}", None),
    ):
        assert (await tenants.call("stranger", method, place, body)).status_code == 404, place
    assert (await tenants.call("stranger", "GET", ACCOUNTS)).json()["data"]["items"] == []
    assert (await by(tenants, key["key"])).status_code == 200
    # The path of another account of the same tenant does not lead to the key either.
    other = await make_account(tenants, name="Other")
    assert (await tenants.call("admin", "DELETE", f"{ACCOUNTS}/{other['id']}/keys/{key['id']}")).status_code == 404


@pytest.mark.promise("POST /api/service-accounts")
@pytest.mark.promise("PUT /api/service-accounts/{account_id}")
@pytest.mark.promise("DELETE /api/service-accounts/{account_id}")
@pytest.mark.promise("POST /api/service-accounts/{account_id}/keys")
@pytest.mark.promise(
    "keys, impersonation: nobody makes a key of a stronger account, a key wider than its account, or an account with "
    "roles they do not hold"
)
async def test_a_caller_cannot_grant_an_account_or_a_key_rights_they_lack(tenants: TwoTenants) -> None:
    await tenants.make_role("Keeper", "acme", ["*:service-accounts", "read:products"])
    await tenants.make_user("keeper", "acme", ["Keeper"])
    await tenants.log_in("keeper", "acme")
    strong, weak = await make_account(tenants), await make_account(tenants, whom="keeper", roles=["Reader"], name="W")
    path = f"{ACCOUNTS}/{strong['id']}"
    key = await make_key(tenants, strong)
    for method, place, body in (
        ("POST", ACCOUNTS, {"name": "x", "roles": ["Admin"]}),
        ("PUT", f"{ACCOUNTS}/{weak['id']}", {"roles": ["Admin"]}),
        ("PUT", path, {"roles": []}),
        ("PUT", path, {"isActive": False}),
        ("DELETE", path, None),
        ("POST", f"{path}/keys", {"name": "x"}),
        ("POST", f"{path}/keys", {"name": "x", "permissions": ["read:products"]}),
        ("POST", f"{path}/keys/{key['id']}/rotate", {}),
        ("DELETE", f"{path}/keys/{key['id']}", None),
        # a key wider than its account
        ("POST", f"{ACCOUNTS}/{weak['id']}/keys", {"name": "x", "permissions": ["*"]}),
        ("POST", f"{ACCOUNTS}/{weak['id']}/keys", {"name": "x", "permissions": ["read:service-accounts"]}),
    ):
        answer = await tenants.call("keeper", method, place, body)
        assert (answer.status_code, code_of(answer)) == (403, "FORBIDDEN"), (method, place, body)
    # SuperAdmin is given from the tenant system alone.
    answer = await tenants.call("admin", "POST", ACCOUNTS, {"name": "x", "roles": ["SuperAdmin"]})
    assert answer.status_code == 403
    assert (await tenants.call("keeper", "PUT", path, {"description": "renamed by who holds less"})).status_code == 200
    assert (await make_key(tenants, weak, whom="keeper", name="narrow", permissions=["read:products"]))["key"]


@pytest.mark.promise("keys, impersonation: an account cannot widen itself by the role it holds")
async def test_a_service_account_cannot_widen_the_role_that_it_holds(tenants: TwoTenants) -> None:
    await tenants.make_role("Editor", "acme", ["update:roles", "*:service-accounts"])
    account = await make_account(tenants, roles=["Editor"])
    await make_key(tenants, account, name="robot")
    role = f"/api/roles/{tenants.roles['Editor']}"
    assert (await tenants.call("robot", "PUT", role, {"permissions": ["*"]})).status_code == 403
    mine = f"{ACCOUNTS}/{account['id']}"
    assert (await tenants.call("robot", "PUT", mine, {"roles": ["Admin"]})).status_code == 403
    # The role may be changed by who holds what changes, and the key has it on its next request.
    assert (await by(tenants, tenants.app.tokens["robot"])).status_code == 403
    body = {"permissions": ["read:products"]}
    assert (await tenants.call("admin", "PUT", role, body)).status_code == 200
    assert (await by(tenants, tenants.app.tokens["robot"])).status_code == 200


@pytest.mark.promise("identity, errors: QUOTA_EXCEEDED 403")
@pytest.mark.promise("keys, cost: Quotas of accounts and keys hold for requests at once")
async def test_quotas_end_with_a_clear_error(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    keys = [await make_key(tenants, account, name=f"key {number}") for number in range(10)]
    path = f"{ACCOUNTS}/{account['id']}/keys"
    answer = await tenants.call("admin", "POST", path, {"name": "one more"})
    assert (answer.status_code, code_of(answer)) == (403, "QUOTA_EXCEEDED")
    # One rotated key may live beside the ten.
    rotated = await tenants.call("admin", "POST", f"{path}/{keys[-1]['id']}/rotate", {})
    assert rotated.status_code == 201
    successor = rotated.json()["data"]["id"]
    answer = await tenants.call("admin", "POST", f"{path}/{successor}/rotate", {"overlapMinutes": 5})
    assert code_of(answer) == "QUOTA_EXCEEDED"
    assert (await tenants.call("admin", "POST", f"{path}/{successor}/rotate", {"overlapMinutes": 0})).status_code == 201
    for number in range(49):
        await make_account(tenants, roles=[], name=f"Robot {number}")
    answer = await tenants.call("admin", "POST", ACCOUNTS, {"name": "one more", "roles": []})
    assert (answer.status_code, code_of(answer)) == (403, "QUOTA_EXCEEDED")


@pytest.mark.promise("keys, impersonation: Making and rotating a key asks for a recent proof")
async def test_making_and_rotating_keys_asks_for_a_recent_proof_and_ending_does_not(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    key = await make_key(tenants, account)
    clock_of(tenants).move(timedelta(minutes=11))
    path = f"{ACCOUNTS}/{account['id']}/keys"
    for place in (path, f"{path}/{key['id']}/rotate"):
        answer = await tenants.call("admin", "POST", place, {"name": "x"} if place == path else {})
        assert (answer.status_code, code_of(answer)) == (401, "REAUTHENTICATION_REQUIRED")
    assert (await tenants.call("admin", "DELETE", f"{path}/{key['id']}")).status_code == 200


@pytest.mark.promise("POST /api/service-accounts/{account_id}/keys/{key_id}/rotate")
@pytest.mark.promise("keys, revocation of keys: an overlap and an expiry are exact to the tick")
async def test_an_overlap_is_exact_to_the_tick(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    old = await make_key(tenants, account, permissions=["read:products"])
    assert (await by(tenants, old["key"])).status_code == 200
    path = f"{ACCOUNTS}/{account['id']}/keys/{old['id']}"
    answer = await tenants.call("admin", "POST", f"{path}/rotate", {"overlapMinutes": 5})
    new = answer.json()["data"]
    assert (new["permissions"], new["name"]) == (old["permissions"], old["name"])
    assert code_of(await tenants.call("admin", "POST", f"{path}/rotate", {})) == "CONFLICT"
    clock = clock_of(tenants)
    clock.move(timedelta(minutes=5) - timedelta.resolution)
    assert [(await by(tenants, key["key"])).status_code for key in (old, new)] == [200, 200]
    clock.move(timedelta.resolution)
    assert [(await by(tenants, key["key"])).status_code for key in (old, new)] == [401, 200]
    assert (await tenants.call("admin", "DELETE", path)).status_code == 404
    # Without an overlap the old one is dead at once.
    await tenants.log_in("admin", "acme")
    path = f"{ACCOUNTS}/{account['id']}/keys/{new['id']}/rotate"
    newest = (await tenants.call("admin", "POST", path, {"overlapMinutes": 0})).json()["data"]
    assert [(await by(tenants, key["key"])).status_code for key in (new, newest)] == [401, 200]
    lines = [action for action in await audited(tenants) if action.startswith("key.")]
    assert lines == ["key.created", "key.rotated", "key.refused", "key.rotated", "key.refused"]


async def test_a_successor_has_the_lifetime_of_the_key_that_it_replaces(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    clock = clock_of(tenants)
    end = clock.now() + timedelta(days=3)
    key = await make_key(tenants, account, expiresAt=end.isoformat())
    clock.move(timedelta(minutes=1))
    path = f"{ACCOUNTS}/{account['id']}/keys/{key['id']}/rotate"
    new = (await tenants.call("admin", "POST", path, {})).json()["data"]
    assert new["expiresAt"] == (end + timedelta(minutes=1)).isoformat().replace("+00:00", "Z")


@pytest.mark.promise(
    "keys, impersonation: a narrow key of a super-admin changes and deletes nobody who holds more than the key"
)
async def test_a_narrow_key_of_a_super_admin_cannot_change_stronger_users(tenants: TwoTenants) -> None:
    answer = await tenants.call("root", "POST", ACCOUNTS, {"name": "Sync", "roles": ["SuperAdmin"]})
    account = answer.json()["data"]
    held = ["update:users", "delete:users"]
    await make_key(tenants, account, whom="root", name="narrow", permissions=held)
    await make_key(tenants, account, whom="root", name="wide")
    root = (await tenants.call("root", "GET", "/api/auth/me")).json()["data"]["id"]
    tenant = tenants.tenants["acme"]
    for user_id in (root, tenants.users["admin"]):
        for method, path, body in (
            ("PUT", f"/api/users/{user_id}", {"email": "thief@evil.example"}),
            ("PUT", f"/api/users/{user_id}", {"isActive": False}),
            ("POST", f"/api/users/{user_id}/unlock", None),
            ("DELETE", f"/api/users/{user_id}", None),
            ("DELETE", f"/api/users/{user_id}/sessions", None),
            ("DELETE", f"/api/tenants/{tenant}/users/{tenants.users['admin']}", None),
        ):
            answer = await tenants.call("narrow", method, path, body)
            assert (answer.status_code, code_of(answer)) == (403, "FORBIDDEN"), (method, path)
    # Who holds no more than the key is changed by it, and a key of everything changes everybody.
    member, renamed = f"/api/users/{tenants.users['member']}", {"fullName": "Renamed"}
    assert (await tenants.call("narrow", "PUT", member, renamed)).status_code == 200
    assert (await tenants.call("wide", "PUT", f"/api/users/{root}", renamed)).status_code == 200


async def test_the_end_of_a_key_is_a_moment_of_utc_up_to_the_last_year(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    path = f"{ACCOUNTS}/{account['id']}/keys"
    beyond = {"name": "k", "expiresAt": "9999-12-31T23:59:59-12:00"}
    refused = await tenants.call("admin", "POST", path, beyond)
    assert (refused.status_code, [error["field"] for error in refused.json()["errors"]]) == (400, ["expiresAt"])
    key = await make_key(tenants, account, expiresAt="9999-12-31T23:59:59+02:00")
    assert key["expiresAt"] == "9999-12-31T21:59:59Z"
    # A successor lives as long as the key did, as far as there are years.
    clock_of(tenants).move(timedelta(days=1))
    await tenants.log_in("admin", "acme")
    successor = await tenants.call("admin", "POST", f"{path}/{key['id']}/rotate", {"overlapMinutes": 0})
    assert successor.status_code == 201, successor.text
    (listed,) = (await tenants.call("admin", "GET", path)).json()["data"]
    assert listed["expiresAt"] == successor.json()["data"]["expiresAt"] == "9999-12-31T23:59:59.999999Z"


@pytest.mark.promise("keys, cost: Owners are told before a key expires")
async def test_admins_are_notified_by_mail_before_a_key_expires(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    clock, services = clock_of(tenants), tenants.app.services
    end = clock.now() + timedelta(days=8)
    key = await make_key(tenants, account, expiresAt=end.isoformat())
    assert await services.key_expiry.announce() == 0
    clock.move(timedelta(days=1))
    assert (await services.key_expiry.announce(), await services.key_expiry.announce()) == (1, 0)
    async with tenants.app.adapters.database.autocommit(EveryTenant()) as tx:
        due = await tx.outbox.take(10, clock.now(), timedelta(minutes=1))
    assert [(mail.mail.kind, mail.mail.recipient, mail.mail.address) for mail in due] == [
        ("key-expires", "admin@acme.example", f"{key['start']}, {end:%Y-%m-%d %H:%M} UTC")
    ]
