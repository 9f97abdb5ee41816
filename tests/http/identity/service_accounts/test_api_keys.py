"""API keys as bearers: what they open, how they end, and what an attacker tries with them."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from adapters.http.operations.access_log import log
from domain.identity.service_accounts import compose_key, key_digest, without_keys
from tests.http.identity.service_accounts.service_accounts import by, code_of, counted, make_account, make_key
from tests.http.identity.service_accounts.test_service_accounts import ACCOUNTS, audited, clock_of
from tests.http.two_tenants import SYSTEM, TwoTenants

PEOPLE_ONLY = [
    ("POST", "/api/auth/switch-tenant", {"tenantId": SYSTEM}),
    ("GET", "/api/auth/sessions", None),
    ("DELETE", f"/api/auth/sessions/{SYSTEM}", None),
    ("POST", "/api/auth/change-password", {"currentPassword": "x", "newPassword": "y"}),
    ("POST", "/api/auth/reauthenticate", {"password": "x"}),
    ("POST", "/api/auth/logout", None),
    ("DELETE", f"/api/users/{SYSTEM}/factors", None),
]


async def test_a_key_has_the_rights_and_the_name_of_its_account(tenants: TwoTenants) -> None:
    account = await make_account(tenants, roles=["Reader"], name="Robot")
    await make_key(tenants, account, name="robot")
    me = (await tenants.call("robot", "GET", "/api/auth/me")).json()["data"]
    assert me == {
        "id": account["id"],
        "name": "Robot",
        "email": "",
        "roles": ["Reader"],
        "permissions": ["read:products"],
    }
    for path in ("/api/auth/me/complete", "/api/auth/me?include=profile"):
        profile = (await tenants.call("robot", "GET", path)).json()["data"]
        assert (profile["id"], profile["fullName"], profile["email"]) == (account["id"], "Robot", "")
        assert [tenant["id"] for tenant in profile["tenants"]] == [tenants.tenants["acme"]]
    assert (await tenants.call("robot", "GET", "/api/products")).status_code == 200
    assert (await tenants.call("robot", "POST", "/api/products", {"name": "x"})).status_code == 403


async def test_what_a_service_account_makes_is_signed_with_its_id(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    await make_key(tenants, account, name="robot")
    made = await tenants.call("robot", "POST", "/api/products", {"name": "Lamp", "sku": "L-1", "price": 1})
    assert (made.status_code, made.json()["data"]["createdBy"]) == (201, account["id"])
    other = await tenants.call("robot", "POST", ACCOUNTS, {"name": "Child", "roles": ["Reader"]})
    assert other.json()["data"]["createdBy"] == account["id"]


@pytest.mark.promise(
    "keys, impersonation: a narrow key allows what both its account and it allow, for every permission"
)
async def test_a_key_with_explicit_permissions_is_narrower_than_its_account(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    await make_key(tenants, account, name="robot", permissions=["read:*"])
    assert (await tenants.call("robot", "GET", "/api/users")).status_code == 200
    answer = await tenants.call("robot", "POST", "/api/products", {"name": "Lamp", "sku": "L-1", "price": 1})
    assert answer.status_code == 403


@pytest.mark.promise(
    "keys, impersonation: Switching tenants, sessions, the password, reauthentication, logout and the making of keys "
    "are for people"
)
@pytest.mark.parametrize(("method", "path", "body"), PEOPLE_ONLY)
async def test_what_is_for_people_is_closed_to_service_accounts(
    tenants: TwoTenants, method: str, path: str, body: object
) -> None:
    await make_key(tenants, await make_account(tenants), name="robot")
    assert (await tenants.call("robot", method, path, body)).status_code == 403


@pytest.mark.promise(
    "keys, impersonation: Switching tenants, sessions, the password, reauthentication, logout and the making of keys "
    "are for people"
)
async def test_a_service_account_makes_no_keys(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    key = await make_key(tenants, account, name="robot")
    path = f"{ACCOUNTS}/{account['id']}/keys"
    assert (await tenants.call("robot", "POST", path, {"name": "another"})).status_code == 403
    assert (await tenants.call("robot", "POST", f"{path}/{key['id']}/rotate", {})).status_code == 403


@pytest.mark.promise(
    "keys, impersonation: a key of one tenant opens nothing of another, on every route of every entity, and its "
    "account does not exist there"
)
async def test_a_key_of_one_tenant_opens_nothing_of_another(tenants: TwoTenants) -> None:
    made = await tenants.call("stranger", "POST", "/api/products", {"name": "Lamp", "sku": "L-1", "price": 1})
    foreign = made.headers["location"]
    await make_key(tenants, await make_account(tenants), name="robot")
    for method, path, body in (
        ("GET", foreign, None),
        ("PUT", foreign, {"price": 2}),
        ("DELETE", foreign, None),
        ("GET", f"/api/users/{tenants.users['stranger']}", None),
        ("GET", f"/api/tenants/{tenants.tenants['other']}/users", None),
    ):
        assert (await tenants.call("robot", method, path, body)).status_code == 404, path
    assert (await tenants.call("robot", "GET", "/api/products")).json()["data"]["items"] == []
    everywhere = {"X-Tenant-Scope": "all"}
    assert (await by(tenants, tenants.app.tokens["robot"], **everywhere)).status_code == 403


@pytest.mark.promise("keys, impersonation: X-Tenant-Scope is for accounts of system with SuperAdmin alone")
async def test_an_account_of_system_with_super_admin_reads_over_all_tenants(tenants: TwoTenants) -> None:
    answer = await tenants.call("root", "POST", ACCOUNTS, {"name": "Audit", "roles": ["SuperAdmin"]})
    assert answer.status_code == 201, answer.text
    key = await make_key(tenants, answer.json()["data"], whom="root")
    everywhere = {"X-Tenant-Scope": "all"}
    assert (await by(tenants, key["key"], **everywhere)).status_code == 200
    plain = await tenants.call("root", "POST", ACCOUNTS, {"name": "Plain", "roles": ["Admin"]})
    key = await make_key(tenants, plain.json()["data"], whom="root")
    assert (await by(tenants, key["key"], **everywhere)).status_code == 403


@pytest.mark.promise(
    "keys, revocation of keys: a closed tenant and a disabled or deleted account end their keys at once; a removed "
    "maker ends none"
)
async def test_a_key_ends_with_its_account_but_not_with_its_creator(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    key = (await make_key(tenants, account))["key"]
    path = f"{ACCOUNTS}/{account['id']}"

    async def status() -> int:
        return (await by(tenants, key)).status_code

    assert await status() == 200
    # Disabled: dead on the next request; enabled again: it lives again.
    await tenants.call("admin", "PUT", path, {"isActive": False})
    assert (await status(), await status()) == (401, 401)
    await tenants.call("admin", "PUT", path, {"isActive": True})
    assert (await status(), await status()) == (200, 200)
    # The tenant is closed and opened again.
    home = f"/api/tenants/{tenants.tenants['acme']}"
    assert (await tenants.call("root", "PUT", home, {"isActive": False})).status_code == 200
    assert await status() == 401
    await tenants.call("root", "PUT", home, {"isActive": True})
    assert await status() == 200
    # Who made it is removed.
    assert (await tenants.call("root", "DELETE", f"/api/users/{tenants.users['admin']}")).status_code == 200
    assert await status() == 200
    # The account is deleted.
    inside = await tenants.call("root", "POST", "/api/auth/switch-tenant", {"tenantId": tenants.tenants["acme"]})
    tenants.app.tokens["inside"] = inside.json()["data"]["token"]
    assert (await tenants.call("inside", "DELETE", path)).status_code == 200
    assert (await status(), await status()) == (401, 401)


@pytest.mark.promise("DELETE /api/service-accounts/{account_id}/keys/{key_id}")
@pytest.mark.promise(
    "keys, revocation of keys: the last use is an UPDATE of its own columns: it revives no key that ended meanwhile"
)
async def test_an_ended_key_is_dead_on_the_next_request_and_its_last_use_revives_nothing(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    key = await make_key(tenants, account)
    assert (await by(tenants, key["key"])).status_code == 200
    path = f"{ACCOUNTS}/{account['id']}/keys/{key['id']}"
    assert (await tenants.call("admin", "DELETE", path)).status_code == 200
    assert code_of(await by(tenants, key["key"], "/api/auth/me")) == "TOKEN_INVALID"
    # The use of before is stored after the end, in columns of its own (better-auth#9974).
    assert await tenants.app.services.last_uses.store() == 1
    assert (await by(tenants, key["key"])).status_code == 401
    found = (await tenants.call("admin", "GET", f"{ACCOUNTS}/{account['id']}")).json()["data"]
    assert (found["keys"], found["lastUsedAt"]) == (0, clock_of(tenants).now().isoformat().replace("+00:00", "Z"))


async def test_the_last_use_is_stored_in_the_background(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    key = await make_key(tenants, account)
    await by(tenants, key["key"])
    path = f"{ACCOUNTS}/{account['id']}/keys"
    assert (await tenants.call("admin", "GET", path)).json()["data"][0]["lastUsedAt"] is None
    assert await tenants.app.services.last_uses.store() == 1
    assert await tenants.app.services.last_uses.store() == 0
    listed = (await tenants.call("admin", "GET", path)).json()["data"][0]
    assert listed["lastUsedAddress"] == "127.0.0.1"
    assert listed["lastUsedAt"] is not None


async def test_a_use_that_could_not_be_stored_is_stored_later(tenants: TwoTenants) -> None:
    await by(tenants, (await make_key(tenants, await make_account(tenants)))["key"])
    database: Any = tenants.app.adapters.database
    database.down = True
    with pytest.raises(Exception, match="cannot answer"):
        await tenants.app.services.last_uses.store()
    database.down = False
    assert await tenants.app.services.last_uses.store() == 1


@pytest.mark.promise("keys, revocation of keys: an overlap and an expiry are exact to the tick")
async def test_an_expired_key_says_so_to_the_tick(tenants: TwoTenants) -> None:
    clock = clock_of(tenants)
    end = clock.now() + timedelta(minutes=3)
    key = await make_key(tenants, await make_account(tenants), expiresAt=end.isoformat())
    clock.move(timedelta(minutes=3) - timedelta.resolution)
    assert (await by(tenants, key["key"])).status_code == 200
    clock.move(timedelta.resolution)
    for _ in range(2):
        assert code_of(await by(tenants, key["key"], "/api/auth/me")) == "TOKEN_EXPIRED"


@pytest.mark.promise(
    "keys, guessing: a key is refused from networks that it does not name, and the audit trail says so without growing "
    "with every request"
)
async def test_a_key_used_from_another_network_is_refused_and_audited_once(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    near = await make_key(tenants, account, name="near", networks=["127.0.0.0/8"])
    far = await make_key(tenants, account, name="far", networks=["192.0.2.0/24"])
    assert (await by(tenants, near["key"])).status_code == 200
    # the document tells of the 403 also where any token will do
    for path in ("/api/products", "/api/auth/me", "/api/auth/me/complete", "/api/tenants/current"):
        assert (await by(tenants, far["key"], path)).status_code == 403
    assert (await audited(tenants)).count("key.refused") == 1
    clock_of(tenants).move(timedelta(minutes=1))
    assert (await by(tenants, far["key"])).status_code == 403
    assert (await audited(tenants)).count("key.refused") == 2


@pytest.mark.promise("keys, revocation of keys: Changed roles reach a key in the same request")
async def test_a_changed_role_reaches_the_key_in_the_same_request(tenants: TwoTenants) -> None:
    account = await make_account(tenants, roles=["Reader"])
    await make_key(tenants, account, name="robot")
    assert (await tenants.call("robot", "GET", "/api/products")).status_code == 200
    path = f"{ACCOUNTS}/{account['id']}"
    assert (await tenants.call("admin", "PUT", path, {"roles": []})).status_code == 200
    assert (await tenants.call("robot", "GET", "/api/products")).status_code == 403
    assert (await tenants.call("admin", "PUT", path, {"roles": ["Admin"], "name": "Renamed"})).status_code == 200
    assert (await tenants.call("robot", "GET", "/api/users")).status_code == 200
    assert (await tenants.call("robot", "GET", "/api/auth/me")).json()["data"]["name"] == "Renamed"


@pytest.mark.promise(
    "keys, cost: the first use of a key is one look-up, further uses are none, and uses at once share it"
)
async def test_the_first_use_of_a_key_is_one_look_up_and_further_uses_are_none(tenants: TwoTenants) -> None:
    key = await make_key(tenants, await make_account(tenants))
    with counted(tenants.app) as database:
        # Requests that come at once share the look-up.
        answers = await asyncio.gather(*(by(tenants, key["key"]) for _ in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        assert (await by(tenants, key["key"])).status_code == 200
        assert database.reads == 1
        clock_of(tenants).move(timedelta(minutes=10))
        assert (await by(tenants, key["key"])).status_code == 200
        assert database.reads == 2


@pytest.mark.promise("keys, guessing: a forged checksum, a long text, NUL and letters beyond ASCII cost no look-up")
async def test_noise_costs_no_look_up_and_an_absent_key_one_in_ten_seconds(tenants: TwoTenants) -> None:
    absent = compose_key("tnt", "A" * 32)
    with counted(tenants.app) as database:
        for noise in (absent[:-1] + "0", absent[:-1], absent + "0", "tnt_", f"tnt_{'A' * 9_000}", "a_b"):
            assert code_of(await by(tenants, noise, "/api/auth/me")) == "TOKEN_INVALID"
        assert database.reads == 0
        for _ in range(3):
            assert code_of(await by(tenants, absent, "/api/auth/me")) == "TOKEN_INVALID"
        assert database.reads == 1
        clock_of(tenants).move(timedelta(seconds=10))
        await by(tenants, absent)
        assert database.reads == 2


@pytest.mark.promise("keys, guessing: a forged checksum, a long text, NUL and letters beyond ASCII cost no look-up")
@pytest.mark.parametrize(
    "header",
    [
        b"Bearer " + compose_key("tnt", "A" * 32).encode() + b"\xff",
        "Bearer tnt_ÄÖÜ".encode(),
        b"Bearer",
        b"bearer tnt_",
        b"Basic tnt_x",
        b"Bearer tnt_" + b"A" * 60_000,
    ],
)
async def test_odd_headers_are_refused_and_break_nothing(tenants: TwoTenants, header: bytes) -> None:
    answer = await tenants.app.client.get("/api/auth/me", headers=[(b"authorization", header)])
    assert answer.status_code == 401


@pytest.mark.promise("keys, guessing: the scheme is compared without case, and two headers are refused")
async def test_the_scheme_is_compared_without_case_and_two_headers_are_refused(tenants: TwoTenants) -> None:
    key = (await make_key(tenants, await make_account(tenants)))["key"]
    for scheme in ("bearer", "BEARER"):
        answer = await tenants.app.client.get("/api/auth/me", headers={"Authorization": f"{scheme} {key}"})
        assert answer.status_code == 200
    twice = [("authorization", f"Bearer {key}"), ("authorization", f"Bearer {key}")]
    assert (await tenants.app.client.get("/api/auth/me", headers=twice)).status_code == 400


@pytest.mark.promise(
    "keys, guessing: a key in an address, a body, a cookie or another header opens nothing and is logged nowhere"
)
async def test_a_key_is_accepted_only_in_its_header_and_never_logged(
    tenants: TwoTenants, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", log.name)
    key = (await make_key(tenants, await make_account(tenants)))["key"]
    client = tenants.app.client
    for answer in (
        await client.get(f"/api/products?access_token={key}"),
        await client.get(f"/api/products/{key}"),
        await client.get("/api/products", headers={"X-API-Key": key}),
        await client.post("/api/products", json={"access_token": key}),
        await client.get("/api/products", headers={"Cookie": f"token={key}"}),
    ):
        assert answer.status_code == 401
    assert (await by(tenants, key, f"/api/products/{key}")).status_code == 404
    told = [repr(vars(record)) for record in caplog.records if record.name.startswith("adapters")]
    assert any("/api/products/tnt_" in line for line in told)
    assert not any(key in line for line in told)
    assert without_keys(f"/api/products/{key}/x") == f"/api/products/{key[:12]}…/x"


@pytest.mark.promise(
    "keys, guessing: Unknown, ended and wrong keys get the same answer; nothing is compared but a digest"
)
async def test_unknown_ended_and_wrong_keys_are_answered_alike(tenants: TwoTenants) -> None:
    account = await make_account(tenants)
    key = await make_key(tenants, account)
    await tenants.call("admin", "DELETE", f"{ACCOUNTS}/{account['id']}/keys/{key['id']}")
    told = set()
    for text in (key["key"], compose_key("tnt", "B" * 32), key["key"][:-1] + "!", "tnt_x"):
        answer = await by(tenants, text, "/api/auth/me")
        told.add((answer.status_code, answer.content, answer.headers["www-authenticate"]))
    assert len(told) == 1


@pytest.mark.promise("keys, guessing: every refused key costs the same work: one look-up by its digest")
async def test_every_key_that_is_refused_costs_the_same_work(tenants: TwoTenants) -> None:
    """No time tells an ended key, or one of a disabled account, from one that never was: each is one look-up."""
    costs = {}
    for fate in ("never was", "ended", "expired", "of a disabled account"):
        account = await make_account(tenants, name=f"Robot {fate}")
        path = f"{ACCOUNTS}/{account['id']}"
        expires = (
            {"expiresAt": (clock_of(tenants).now() + timedelta(minutes=2)).isoformat()} if fate == "expired" else {}
        )
        key = await make_key(tenants, account, **expires)
        if fate == "ended":
            await tenants.call("admin", "DELETE", f"{path}/keys/{key['id']}")
        elif fate == "of a disabled account":
            await tenants.call("admin", "PUT", path, {"isActive": False})
        elif fate == "expired":
            clock_of(tenants).move(timedelta(minutes=3))
        text = compose_key("tnt", "C" * 32) if fate == "never was" else key["key"]
        # Ended and disabled keys are written to the audit trail once; what is compared is every request after that.
        await by(tenants, text)
        clock_of(tenants).move(timedelta(seconds=20))
        with counted(tenants.app) as database:
            assert (await by(tenants, text)).status_code == 401
            costs[fate] = database.reads
    assert set(costs.values()) == {1}, costs


@pytest.mark.promise("keys, guessing: a key is stored as its digest alone")
async def test_only_the_digest_of_a_key_is_stored(tenants: TwoTenants) -> None:
    key = (await make_key(tenants, await make_account(tenants)))["key"]
    database: Any = tenants.app.adapters.database
    store = database.committed()
    assert key_digest(key) in store.api_keys
    assert key not in repr(store)
