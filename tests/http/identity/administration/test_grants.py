"""Grants beyond what the giver holds are refused: the known ways round it, a test for each."""

from typing import Any

import httpx
import pytest

from tests.http.app import ADMIN, PASSWORD
from tests.http.identity.service_accounts.service_accounts import make_account
from tests.http.two_tenants import CLERK, SYSTEM, TwoTenants, email_of

# The published ways round.


@pytest.mark.promise("identity, administration: a role changed by somebody who holds it")
@pytest.mark.parametrize(
    "permissions", [["*"], [*CLERK, "read:products"], ["*:users"], ["update:*"], [*CLERK[:-1], "delete:products"]]
)
async def test_who_holds_a_role_cannot_put_more_into_it(tenants: TwoTenants, permissions: list[str]) -> None:
    body = {"name": "Clerk", "permissions": permissions}
    assert (await tenants.call("clerk", "PUT", f"/api/roles/{tenants.roles['Clerk']}", body)).status_code == 403
    assert await tenants.permissions_of("clerk", "acme") == sorted(CLERK)


async def test_a_new_role_holds_no_more_than_its_maker(tenants: TwoTenants) -> None:
    body = {"name": "Mine", "permissions": ["read:users", "read:products"]}
    assert (await tenants.call("clerk", "POST", "/api/roles", body)).status_code == 403
    assert (
        await tenants.call("clerk", "POST", "/api/roles", {**body, "permissions": ["read:users"]})
    ).status_code == 201


@pytest.mark.promise("identity, administration: nobody grants what they do not hold")
async def test_a_weaker_caller_can_neither_remove_empty_nor_delete_a_stronger_role(
    tenants: TwoTenants,
) -> None:
    await tenants.make_user("reader", "acme", ["Reader"])
    role, user = f"/api/roles/{tenants.roles['Reader']}", f"/api/users/{tenants.users['reader']}"
    assert (await tenants.call("clerk", "PUT", role, {"name": "Reader", "permissions": []})).status_code == 403
    assert (await tenants.call("clerk", "DELETE", role)).status_code == 403
    assert (await tenants.call("clerk", "POST", f"{user}/roles", {"roleNames": []})).status_code == 403
    assert await tenants.permissions_of("reader", "acme") == ["read:products"]


@pytest.mark.promise("identity, administration: nobody grants what they do not hold")
@pytest.mark.parametrize("role", ["Admin", "Reader", "SuperAdmin"])
@pytest.mark.parametrize("whom", ["clerk", "member"])
async def test_no_operation_grants_roles_beyond_those_of_the_caller(tenants: TwoTenants, role: str, whom: str) -> None:
    """Ways: an assignment, an update of the user, a membership, a new user; to oneself and to others."""
    user, body = f"/api/users/{tenants.users[whom]}", {"roles": [role]}
    membership = {"userId": tenants.users[whom], "roles": [role]}
    new = {"email": email_of("new"), "password": PASSWORD, "fullName": "New", "roles": [role]}
    for method, path, sent in (
        ("POST", f"{user}/roles", {"roleNames": [role]}),
        ("PUT", user, body),
        ("POST", f"/api/tenants/{tenants.tenants['acme']}/users", membership),
        ("POST", "/api/users", new),
    ):
        assert (await tenants.call("clerk", method, path, sent)).status_code == 403, path
    assert await tenants.permissions_of(whom, "acme") == (sorted(CLERK) if whom == "clerk" else [])


@pytest.mark.promise("identity, administration: a role that is granted first and extended later")
async def test_a_caller_cannot_widen_a_given_role_beyond_their_own_rights(tenants: TwoTenants) -> None:
    """Composite by update: an empty role is anybody's to give; filling it is not."""
    await tenants.make_role("Empty", "acme", [])
    user = f"/api/users/{tenants.users['clerk']}/roles"
    assert (await tenants.call("clerk", "POST", user, {"roleNames": ["Clerk", "Empty"]})).status_code == 200
    await tenants.log_in("clerk", "acme")
    body = {"name": "Empty", "permissions": ["*"]}
    assert (await tenants.call("clerk", "PUT", f"/api/roles/{tenants.roles['Empty']}", body)).status_code == 403


@pytest.mark.promise("identity, administration: a stale token after revocation")
async def test_a_revoked_permission_cannot_be_granted_any_more(tenants: TwoTenants) -> None:
    """The token still says it; the next request is refused before it says anything."""
    user = f"/api/users/{tenants.users['clerk']}/roles"
    assert (await tenants.call("admin", "POST", user, {"roleNames": []})).status_code == 200
    body = {"name": "Late", "permissions": ["read:users"]}
    answer = await tenants.call("clerk", "POST", "/api/roles", body)
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    await tenants.log_in("clerk", "acme")
    assert (await tenants.call("clerk", "POST", "/api/roles", body)).status_code == 403


CHANGES: dict[str, tuple[str, str, Any]] = {
    "other roles": ("POST", "/api/users/{clerk}/roles", {"roleNames": ["Reader"]}),
    "an updated user": ("PUT", "/api/users/{clerk}", {"roles": ["Reader"]}),
    "another membership": ("POST", "/api/tenants/{acme}/users", {"userId": "{clerk}", "roles": ["Reader"]}),
    "no membership": ("DELETE", "/api/tenants/{acme}/users/{clerk}", None),
    "no account": ("DELETE", "/api/users/{clerk}", None),
    "a disabled account": ("PUT", "/api/users/{clerk}", {"isActive": False}),
    "a changed role": ("PUT", "/api/roles/{Clerk}", {"name": "Clerk", "permissions": []}),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_used_token_is_refused_when_its_claims_have_changed(tenants: TwoTenants, change: str) -> None:
    """The processes know its versions from the request before, and have to be told."""
    method, path, body = CHANGES[change]
    names = {**tenants.tenants, **tenants.users, **tenants.roles}
    if body is not None and "userId" in body:
        body = {**body, "userId": body["userId"].format(**names)}
    assert (await tenants.call("clerk", "GET", "/api/auth/me")).status_code == 200
    changed = await tenants.call("admin", method, path.format(**names), body)
    assert changed.status_code == 200, changed.text
    refused = await tenants.call("clerk", "GET", "/api/auth/me")
    assert (refused.status_code, refused.json()["errorCode"]) in [(401, "TOKEN_EXPIRED"), (401, "TOKEN_INVALID")]


@pytest.mark.promise("identity, errors: NOT_FOUND 404")
@pytest.mark.promise("identity, administration: an id of another tenant gets the same bytes as an unknown id")
@pytest.mark.promise("identity, administration: unknown role names and users: VALIDATION_ERROR on the field")
async def test_ids_of_another_tenant_are_ids_of_nothing(tenants: TwoTenants) -> None:
    """Byte for byte the answer for what never was."""
    nothing = "00000000-0000-7000-8000-00000000dead"
    stranger, foreign, other = tenants.users["stranger"], tenants.roles["Foreign"], tenants.tenants["other"]
    for method, path, theirs_id, body in (
        ("GET", "/api/users/{}", stranger, None),
        ("PUT", "/api/users/{}", stranger, {"fullName": "Mine"}),
        ("DELETE", "/api/users/{}", stranger, None),
        ("POST", "/api/users/{}/roles", stranger, {"roleNames": []}),
        ("POST", "/api/users/{}/unlock", stranger, None),
        ("PUT", "/api/roles/{}", foreign, {"name": "Mine", "permissions": []}),
        ("DELETE", "/api/roles/{}", foreign, None),
        ("GET", "/api/tenants/{}/users", other, None),
        ("POST", "/api/tenants/{}/users", other, {"userId": tenants.users["member"], "roles": []}),
        ("DELETE", f"/api/tenants/{other}/users/{{}}", stranger, None),
    ):
        theirs = await tenants.call("admin", method, path.format(theirs_id), body)
        nobodys = await tenants.call("admin", method, path.format(nothing), body)
        assert (theirs.status_code, theirs.content) == (404, nobodys.content), path
    joining = [{"userId": user_id, "roles": []} for user_id in (stranger, nothing)]
    path = f"/api/tenants/{tenants.tenants['acme']}/users"
    theirs, nobodys = [await tenants.call("admin", "POST", path, body) for body in joining]
    assert (theirs.status_code, theirs.content) == (400, nobodys.content)


@pytest.mark.promise("identity, administration: an id of another tenant gets the same bytes as an unknown id")
async def test_roles_of_another_tenant_have_no_name_here(tenants: TwoTenants) -> None:
    user = f"/api/users/{tenants.users['member']}/roles"
    foreign = await tenants.call("admin", "POST", user, {"roleNames": ["Foreign"]})
    nothing = await tenants.call("admin", "POST", user, {"roleNames": ["Nothing"]})
    assert foreign.status_code == nothing.status_code == 400
    assert foreign.text == nothing.text.replace("Nothing", "Foreign")


@pytest.mark.promise("identity, administration: a tenant's administrator who names SuperAdmin")
async def test_a_tenants_admin_names_super_admin_in_vain(tenants: TwoTenants) -> None:
    for name in ("SuperAdmin", "superadmin", "SUPERADMIN"):
        body = {"name": name, "permissions": ["*"]}
        assert (await tenants.call("admin", "POST", "/api/roles", body)).status_code == 409
    await tenants.make_role("Mine", "acme", ["*"])
    renamed = {"name": "SuperAdmin", "permissions": ["*"]}
    assert (await tenants.call("admin", "PUT", f"/api/roles/{tenants.roles['Mine']}", renamed)).status_code == 409


@pytest.mark.promise("identity, administration: a tenant's administrator who names SuperAdmin")
async def test_super_admin_is_granted_only_from_the_system_tenant_and_never_in_a_membership(
    tenants: TwoTenants,
) -> None:
    user, body = tenants.users["member"], {"roleNames": ["SuperAdmin"]}
    assert (await tenants.call("admin", "POST", f"/api/users/{user}/roles", body)).status_code == 403
    assert (await tenants.call("root in acme", "POST", f"/api/users/{user}/roles", body)).status_code == 403
    membership = {"userId": user, "roles": ["SuperAdmin"]}
    for whom in ("root", "root in acme"):
        for tenant_id in (tenants.tenants["acme"], SYSTEM):
            answer = await tenants.call(whom, "POST", f"/api/tenants/{tenant_id}/users", membership)
            assert answer.status_code == 403, answer.text
    assert (await tenants.call("root", "POST", f"/api/users/{user}/roles", body)).status_code == 200
    await tenants.app.login("member", email_of("member"), SYSTEM)
    assert (await tenants.call("member", "GET", "/api/tenants")).status_code == 200


@pytest.mark.promise("identity, administration: * is valid in its tenant only; a member of system is not a super-admin")
async def test_everything_in_a_tenant_is_nothing_outside(tenants: TwoTenants) -> None:
    for method, path, body in (
        ("GET", "/api/tenants", None),
        ("POST", "/api/tenants", {"name": "New", "identifier": "fresh"}),
        ("PUT", f"/api/tenants/{tenants.tenants['acme']}", {"name": "Renamed"}),
        ("DELETE", f"/api/tenants/{tenants.tenants['other']}", None),
        ("POST", "/api/permissions", {"name": "do:it"}),
        ("PUT", f"/api/roles/{await system_role(tenants, 'Member')}", {"name": "Member", "permissions": ["*"]}),
        ("DELETE", f"/api/roles/{await system_role(tenants, 'Member')}", None),
    ):
        answer = await tenants.call("admin", method, path, body)
        assert answer.status_code == 403, (path, answer.text)


async def system_role(tenants: TwoTenants, name: str) -> str:
    listed = (await tenants.call("root", "GET", "/api/roles")).json()["items"]
    role_id: str = next(role["id"] for role in listed if role["name"] == name)
    return role_id


@pytest.mark.promise("identity, administration: * is valid in its tenant only; a member of system is not a super-admin")
async def test_belonging_to_system_is_not_being_a_super_admin(tenants: TwoTenants) -> None:
    membership = {"userId": tenants.users["member"], "roles": ["Admin"]}
    assert (await tenants.call("root", "POST", f"/api/tenants/{SYSTEM}/users", membership)).status_code == 201
    await tenants.app.login("member", email_of("member"), SYSTEM)
    for method, path, body in (
        ("GET", "/api/tenants", None),
        ("POST", f"/api/users/{tenants.users['member']}/roles", {"roleNames": ["SuperAdmin"]}),
        ("PUT", f"/api/users/{tenants.users['root']}", {"email": "mine@acme.example"}),
        ("DELETE", f"/api/users/{tenants.users['root']}", None),
        ("GET", f"/api/users/{tenants.users['admin']}", None),
    ):
        assert (await tenants.call("member", method, path, body)).status_code in (403, 404), path


@pytest.mark.promise("identity, administration: Taking over a stronger user's e-mail")
@pytest.mark.parametrize("body", [{"email": "mine@acme.example"}, {"isActive": False}, {"fullName": "Renamed"}])
async def test_a_weaker_caller_cannot_change_or_delete_a_stronger_account(
    tenants: TwoTenants, body: dict[str, object]
) -> None:
    assert (await tenants.call("clerk", "PUT", f"/api/users/{tenants.users['admin']}", body)).status_code == 403
    assert (await tenants.call("clerk", "DELETE", f"/api/users/{tenants.users['admin']}")).status_code == 403
    path = f"/api/tenants/{tenants.tenants['acme']}/users/{tenants.users['admin']}"
    assert (await tenants.call("clerk", "DELETE", path)).status_code == 403
    assert (await tenants.call("clerk", "PUT", f"/api/users/{tenants.users['member']}", body)).status_code == 200


@pytest.mark.promise("identity, administration: Taking over a stronger user's e-mail")
async def test_system_roles_count_when_strength_is_compared(tenants: TwoTenants) -> None:
    """Held as such they hold in the tenant as well, though nobody there has given them."""
    body = {"name": "Auditor", "permissions": ["read:audit-events"]}
    assert (await tenants.call("root", "POST", "/api/roles", body)).status_code == 201
    path = f"/api/users/{tenants.users['member']}"
    assert (await tenants.call("root", "POST", f"{path}/roles", {"roleNames": ["Auditor"]})).status_code == 200
    assert (await tenants.call("clerk", "PUT", path, {"email": "mine@example.com"})).status_code == 403
    assert (await tenants.call("clerk", "DELETE", path)).status_code == 403


@pytest.mark.promise("identity, errors: CONFLICT 409")
@pytest.mark.promise("identity, administration: Taking over a stronger user's e-mail")
async def test_an_address_of_another_user_is_refused(tenants: TwoTenants) -> None:
    for email in (email_of("admin"), " ADMIN@Acme.Example ", ADMIN):
        answer = await tenants.call("clerk", "PUT", f"/api/users/{tenants.users['clerk']}", {"email": email})
        assert (answer.status_code, answer.json()["errorCode"]) == (409, "CONFLICT")
        new = {"email": email, "password": PASSWORD, "fullName": "Me", "roles": []}
        assert (await tenants.call("clerk", "POST", "/api/users", new)).status_code == 409


@pytest.mark.promise("identity, administration: who belongs elsewhere keeps the account")
async def test_a_user_with_a_membership_elsewhere_retains_the_account(tenants: TwoTenants) -> None:
    joining = {"userId": tenants.users["member"], "roles": []}
    assert (
        await tenants.call("root", "POST", f"/api/tenants/{tenants.tenants['other']}/users", joining)
    ).status_code == 201
    path = f"/api/users/{tenants.users['member']}"
    for body in ({"email": "mine@acme.example"}, {"isActive": False}):
        assert (await tenants.call("admin", "PUT", path, body)).status_code == 403
    assert (await tenants.call("admin", "DELETE", path)).status_code == 200
    await tenants.log_in("member", "other")
    assert (await tenants.call("admin", "GET", path)).status_code == 404


@pytest.mark.promise("identity, administration: the last super-admin stays, also when two undo each other at once")
@pytest.mark.parametrize("how", ["demote", "disable", "delete"])
async def test_the_last_super_admin_stays(tenants: TwoTenants, how: str) -> None:
    path = f"/api/users/{tenants.users['root']}"
    method, path, body = {
        "demote": ("POST", f"{path}/roles", {"roleNames": []}),
        "disable": ("PUT", path, {"isActive": False}),
        "delete": ("DELETE", path, None),
    }[how]
    answer = await tenants.call("root", method, path, body)
    assert (answer.status_code, answer.json()["errorCode"]) == (409, "CONFLICT")
    await tenants.app.login("root", ADMIN, SYSTEM)


@pytest.mark.promise("identity, administration: a role still held: 409; SuperAdmin itself: 409")
async def test_the_super_admin_role_cannot_be_changed_or_deleted(tenants: TwoTenants) -> None:
    path = f"/api/roles/{await system_role(tenants, 'SuperAdmin')}"
    assert (await tenants.call("root", "PUT", path, {"name": "SuperAdmin", "permissions": []})).status_code == 409
    assert (await tenants.call("root", "DELETE", path)).status_code == 409


@pytest.mark.promise("identity, administration: a role of the service keeps its name, and is not deleted")
@pytest.mark.parametrize("name", ["Admin", "Member"])
async def test_a_system_role_can_be_described_but_neither_renamed_nor_deleted(tenants: TwoTenants, name: str) -> None:
    path = f"/api/roles/{await system_role(tenants, name)}"
    renamed = await tenants.call("root", "PUT", path, {"name": "Boss"})
    assert (renamed.status_code, fields_of(renamed)) == (409, ["name"])
    assert (await tenants.call("root", "DELETE", path)).status_code == 409
    described = await tenants.call("root", "PUT", path, {"name": name, "description": "for everybody"})
    assert (described.status_code, described.json()["data"]["description"]) == (200, "for everybody")


@pytest.mark.promise("identity, administration: a role still held: 409; SuperAdmin itself: 409")
async def test_a_role_that_is_held_is_not_deleted(tenants: TwoTenants) -> None:
    assert (await tenants.call("admin", "DELETE", f"/api/roles/{tenants.roles['Clerk']}")).status_code == 409
    assert (await tenants.call("admin", "DELETE", f"/api/roles/{tenants.roles['Reader']}")).status_code == 200


# What a token has no room for is refused when it is given.


def many(number: int, prefix: str) -> list[str]:
    return [f"read:{prefix}-{'x' * 40}-{index}" for index in range(number)]


async def test_roles_that_no_token_can_carry_are_refused_when_they_are_made(tenants: TwoTenants) -> None:
    answer = await tenants.call("admin", "POST", "/api/roles", {"name": "Huge", "permissions": many(200, "a")})
    assert (answer.status_code, fields_of(answer)) == (400, ["permissions"])
    assert "more than a token can carry" in answer.json()["errors"][0]["message"]


@pytest.mark.promise("identity, tokens and keys: roles past what a token carries are refused when they are given")
async def test_roles_that_no_token_can_carry_together_are_refused_when_they_are_given(tenants: TwoTenants) -> None:
    for name in ("One", "Two"):
        await tenants.make_role(name, "acme", many(80, name.lower()))
    user, given = f"/api/users/{tenants.users['member']}", ["One", "Two"]
    new = {"email": email_of("new"), "password": PASSWORD, "fullName": "New", "roles": given}
    membership = {"userId": tenants.users["member"], "roles": given}
    robot = await make_account(tenants, roles=["One"])
    for method, path, body, named in (
        ("POST", f"{user}/roles", {"roleNames": given}, "roleNames"),
        ("PUT", user, {"roles": given}, "roles"),
        ("POST", "/api/users", new, "roles"),
        ("POST", "/api/service-accounts", {"name": "Robot", "roles": given}, "roles"),
        ("PUT", f"/api/service-accounts/{robot['id']}", {"roles": given}, "roles"),
        ("POST", f"/api/tenants/{tenants.tenants['acme']}/users", membership, "roles"),
    ):
        answer = await tenants.call("admin", method, path, body)
        assert (answer.status_code, fields_of(answer)) == (400, [named]), path
    assert (await tenants.call("admin", "POST", f"{user}/roles", {"roleNames": ["One"]})).status_code == 200


@pytest.mark.promise("identity, tokens and keys: roles past what a token carries are refused when they are given")
async def test_a_role_is_not_filled_past_what_the_tokens_of_its_holders_can_carry(tenants: TwoTenants) -> None:
    for name, number in (("Full", 80), ("Small", 1)):
        await tenants.make_role(name, "acme", many(number, name.lower()))
    wider = {"name": "Small", "permissions": many(80, "small")}
    path = f"/api/roles/{tenants.roles['Small']}"
    assert (await tenants.call("admin", "PUT", path, wider)).status_code == 200
    assert (await tenants.call("admin", "PUT", path, {**wider, "permissions": []})).status_code == 200
    user = f"/api/users/{tenants.users['member']}/roles"
    assert (await tenants.call("admin", "POST", user, {"roleNames": ["Full", "Small"]})).status_code == 200
    answer = await tenants.call("admin", "PUT", path, wider)
    assert (answer.status_code, fields_of(answer)) == (400, ["permissions"])


@pytest.mark.promise("identity, tokens and keys: roles past what a token carries are refused when they are given")
async def test_the_largest_roles_that_are_taken_make_a_token_that_is_read(tenants: TwoTenants) -> None:
    """The token stays below 12 kB as names go, and below the 16 kB that are read at all with the longest."""
    number = 100
    while (await make_wide_role(tenants, number)).is_success:
        number += 1
    user, largest = f"/api/users/{tenants.users['member']}", [f"Wide {number - 1}"]
    assert (await tenants.call("admin", "POST", f"{user}/roles", {"roleNames": largest})).status_code == 200
    await tenants.log_in("member", "acme")
    assert 11_000 < len(tenants.app.tokens["member"]) < 12 * 1024
    email = f"{'m' * 64}@{'.'.join(['d' * 59] * 3)}.example"
    longest = {"email": email, "fullName": "\U0001f980" * 200, "password": PASSWORD, "roles": largest}
    assert (await tenants.call("admin", "POST", "/api/users", longest)).status_code == 201
    await tenants.app.login("longest", email)
    assert 12 * 1024 < len(tenants.app.tokens["longest"]) < 16 * 1024
    assert (await tenants.call("longest", "GET", "/api/auth/me")).status_code == 200


async def make_wide_role(tenants: TwoTenants, number: int) -> httpx.Response:
    return await tenants.call(
        "admin", "POST", "/api/roles", {"name": f"Wide {number}", "permissions": many(number, "w")}
    )


def fields_of(answer: httpx.Response) -> list[str]:
    return [error["field"] for error in answer.json()["errors"]]
