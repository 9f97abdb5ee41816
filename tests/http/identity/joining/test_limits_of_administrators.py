"""What administrators and keys may not do to owners, to proved accounts and to the security of the tenant."""

import httpx
import pytest

from domain.identity.administration import FOR_PEOPLE
from domain.scope import allows
from tests.builders import link_in, said_by
from tests.http.app import PASSWORD, Json
from tests.http.identity.joining.invited import Invited, told
from tests.http.identity.joining.test_ownership import own
from tests.http.identity.service_accounts.service_accounts import make_account, make_key
from tests.http.served import served_by
from tests.http.two_tenants import email_of

SETTINGS = "/api/tenants/current/settings"


def role_changes(invited: Invited, name: str, roles: list[str]) -> list[tuple[str, str, Json]]:
    user_id, acme = invited.tenants.users[name], invited.tenants.tenants["acme"]
    return [
        ("POST", f"/api/users/{user_id}/roles", {"roleNames": roles}),
        ("PUT", f"/api/users/{user_id}", {"roles": roles}),
        ("POST", f"/api/tenants/{acme}/users", {"userId": user_id, "roles": roles}),
    ]


async def with_second_admin(invited: Invited) -> None:
    """The tenant has the owner ``admin`` and, next to them, the Admin ``second``."""
    await invited.tenants.make_user("second", "acme", ["Admin"])
    await invited.tenants.log_in("second", "acme")
    await own(invited, "admin")


@pytest.mark.promise("tenants, owners: only owners and super-admins change the roles of an owner")
@pytest.mark.parametrize("route", [0, 1, 2])
@pytest.mark.parametrize("roles", [[], ["Member"], ["Clerk"]])
async def test_only_owners_and_super_admins_change_the_roles_of_an_owner(
    invited: Invited, route: int, roles: list[str]
) -> None:
    await with_second_admin(invited)
    method, path, body = role_changes(invited, "admin", roles)[route]
    assert told(await invited.tenants.call("second", method, path, body)) == (403, "FORBIDDEN", [])
    assert (await invited.tenants.call("root in acme", method, path, body)).status_code in (200, 409)
    method, path, body = role_changes(invited, "clerk", roles)[route]
    assert (await invited.tenants.call("second", method, path, body)).status_code == 200


async def test_an_administrator_can_send_the_unchanged_roles_of_an_owner(invited: Invited) -> None:
    await with_second_admin(invited)
    for method, path, body in role_changes(invited, "admin", ["Admin"]):
        assert (await invited.tenants.call("second", method, path, body)).status_code == 200


@pytest.mark.promise("tenants, owners: an owner with the role Admin always remains")
@pytest.mark.parametrize("route", [0, 1, 2])
async def test_the_last_owner_with_the_role_admin_keeps_it(invited: Invited, route: int) -> None:
    await with_second_admin(invited)
    await own(invited, "clerk")
    method, path, body = role_changes(invited, "admin", [])[route]
    assert told(await invited.tenants.call("admin", method, path, body)) == (409, "CONFLICT", [])
    await own(invited, "second")
    assert (await invited.tenants.call("admin", method, path, body)).status_code == 200


async def prove(invited: Invited, name: str) -> None:
    """The owner of the address sets a password by a link from a mail."""
    await invited.mails()
    app = invited.tenants.app
    await app.call("POST", "/api/auth/request-password-reset", json={"email": email_of(name)})
    (mail,) = await invited.mails()
    body = {**said_by(link_in(mail)), "newPassword": PASSWORD, "isPasswordEncrypted": False}
    answer = await app.call("POST", "/api/auth/reset-password", json=body)
    assert answer.status_code == 200, answer.text


@pytest.mark.promise("identity, administration: an administrator cannot change the address of an account once proved")
@pytest.mark.parametrize("email", ["thief@example.com", "member2@acme.example", "root@acme.example"])
async def test_an_administrator_cannot_change_an_address_that_its_owner_proved(invited: Invited, email: str) -> None:
    path = f"/api/users/{invited.tenants.users['member']}"
    assert (await invited.tenants.call("admin", "PUT", path, {"email": "typed@acme.example"})).status_code == 200
    assert (await invited.tenants.call("admin", "PUT", path, {"email": email_of("member")})).status_code == 200
    await prove(invited, "member")
    assert told(await invited.tenants.call("admin", "PUT", path, {"email": email})) == (403, "FORBIDDEN", [])
    same = {"email": email_of("member").upper(), "fullName": "Renamed"}
    assert (await invited.tenants.call("admin", "PUT", path, same)).status_code == 200
    assert (await invited.tenants.call("root", "PUT", path, {"email": email})).status_code == 200


async def by_key(invited: Invited, method: str, path: str, body: Json) -> httpx.Response:
    return await invited.tenants.call("key", method, path, body)


def new_user(*roles: str) -> Json:
    return {"email": "new@acme.example", "password": PASSWORD, "fullName": "New", "roles": [*roles]}


@pytest.mark.promise("security, rights: a key cannot give or take roles with permissions that are for people")
async def test_a_key_cannot_give_or_take_roles_with_permissions_for_people(invited: Invited) -> None:
    await make_key(invited.tenants, await make_account(invited.tenants))
    await invited.tenants.make_user("second", "acme", ["Admin"])
    second, member = (invited.tenants.users[name] for name in ("second", "member"))
    reader = invited.tenants.roles["Reader"]
    for method, path, body in (
        ("POST", "/api/users", new_user("Admin")),
        ("POST", f"/api/users/{member}/roles", {"roleNames": ["Clerk"]}),
        ("POST", f"/api/users/{second}/roles", {"roleNames": []}),
        ("PUT", f"/api/users/{member}", {"roles": ["Admin"]}),
        ("PUT", f"/api/users/{second}", {"email": "mine@example.com"}),
        ("POST", f"/api/tenants/{invited.tenants.tenants['acme']}/users", {"userId": member, "roles": ["Admin"]}),
        ("POST", "/api/invitations", {"email": "new@example.com", "roles": ["Admin"]}),
        *(("POST", "/api/roles", {"name": "New", "permissions": [name]}) for name in (*FOR_PEOPLE, "*", "update:*")),
        ("PUT", f"/api/roles/{reader}", {"permissions": ["read:products", "*:users"]}),
    ):
        answer = await by_key(invited, method, path, body)
        assert (answer.status_code, told(answer)[1]) == (403, "FORBIDDEN"), (method, path, body, answer.text)
    for method, path, body, status in (
        ("POST", "/api/users", new_user("Member", "Reader"), 201),
        ("POST", "/api/roles", {"name": "New", "permissions": ["read:users", "create:products"]}, 201),
        ("POST", "/api/invitations", {"email": "new@example.com", "roles": ["Reader"]}, 201),
        ("PUT", f"/api/users/{member}", {"email": "typed@acme.example", "roles": ["Reader"]}, 200),
        ("PUT", SETTINGS, {"timezone": "Europe/Berlin"}, 200),
    ):
        answer = await by_key(invited, method, path, body)
        assert answer.status_code == status, (method, path, answer.text)


async def test_every_operation_for_people_with_a_permission_is_out_of_reach_of_what_keys_give(invited: Invited) -> None:
    policies = [endpoint.policy for endpoint in served_by(invited.tenants.app.services)]
    asked = {policy.permission for policy in policies if policy.people and policy.recent and policy.permission}
    assert asked
    assert [name for name in sorted(asked) if not allows(FOR_PEOPLE, name)] == []


@pytest.mark.parametrize("security", [{"requireMfa": True}, {"requireMfa": False}, {"sessionDays": 90}])
async def test_only_a_person_with_a_recent_proof_changes_security_settings(invited: Invited, security: Json) -> None:
    await make_key(invited.tenants, await make_account(invited.tenants))
    answer = await by_key(invited, "PUT", SETTINGS, {"security": security})
    assert told(answer) == (403, "FORBIDDEN", [])
    assert (await invited.tenants.call("admin", "PUT", SETTINGS, {"security": security})).status_code == 200


@pytest.mark.promise("tenants, owners: owners are notified of changed security settings of their tenant")
async def test_owners_are_notified_of_changed_security_settings(invited: Invited) -> None:
    await own(invited, "admin")
    for settings, expected in (
        ({"security": {"sessionDays": 20}}, [email_of("admin")]),
        ({"security": {"sessionDays": 20}}, []),
        ({"security": {"sessionDays": None}}, [email_of("admin")]),
        ({"timezone": "Europe/Berlin"}, []),
    ):
        await invited.mails()
        changed = await invited.tenants.call("admin", "PUT", SETTINGS, settings)
        assert changed.status_code == 200, changed.text
        await invited.tenants.log_in("admin", "acme")
        mails = [mail for mail in await invited.mails() if "security settings" in mail.subject]
        assert [mail.to for mail in mails] == expected, settings


@pytest.mark.promise("security, rights: security is only shown to callers who may read the settings")
async def test_the_current_tenant_shows_security_only_to_callers_who_may_read_settings(invited: Invited) -> None:
    own_settings = {"customSettings": {"theme": "dark"}, "security": {"sessionDays": 20}}
    assert (await invited.tenants.call("admin", "PUT", SETTINGS, own_settings)).status_code == 200
    for name in ("admin", "member", "clerk"):
        await invited.tenants.log_in(name, "acme")
    account = await make_account(invited.tenants)
    await make_key(invited.tenants, account, name="narrow", permissions=["read:products"])
    await make_key(invited.tenants, account, name="settings", permissions=["read:tenant-settings"])
    for whom, shows_security, shows_custom in (
        ("admin", True, True),
        ("member", False, True),
        ("clerk", False, True),
        ("narrow", False, False),
        ("settings", True, True),
    ):
        answer = await invited.tenants.call(whom, "GET", "/api/tenants/current")
        settings = answer.json()["data"]["settings"]
        assert ("security" in settings, bool(settings["customSettings"])) == (shows_security, shows_custom), whom
