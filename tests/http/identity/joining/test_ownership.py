"""Owners: transfer, leaving, and the last one, who stays."""

import asyncio
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from tests.http.identity.factors.steps import join
from tests.http.identity.joining.invited import Invited, told
from tests.http.two_tenants import SYSTEM, email_of


async def own(invited: Invited, name: str, *, is_owner: bool = True) -> httpx.Response:
    acme, user_id = invited.tenants.tenants["acme"], invited.tenants.users[name]
    body = {"isOwner": is_owner}
    return await invited.tenants.call("root", "PUT", f"/api/tenants/{acme}/users/{user_id}", body)


async def owners(invited: Invited) -> set[str]:
    path = f"/api/tenants/{invited.tenants.tenants['acme']}/users?pageSize=100"
    listed = (await invited.tenants.call("root", "GET", path)).json()["data"]["items"]
    return {user["email"].partition("@")[0] for user in listed if user["isOwner"]}


async def transfer(invited: Invited, whom: str, name: str) -> httpx.Response:
    body = {"userId": invited.tenants.users[name]}
    return await invited.tenants.call(whom, "POST", "/api/tenants/current/transfer", body)


@pytest.mark.promise("PUT /api/tenants/{tenant_id}/users/{user_id}")
@pytest.mark.promise("tenants, owners: the last owner neither leaves nor is removed, deleted, disabled or demoted")
async def test_a_super_admin_can_make_a_member_owner_and_revoke_it(invited: Invited) -> None:
    made = await own(invited, "admin")
    data = made.json()["data"]
    assert (made.status_code, data["isOwner"], data["roles"]) == (200, True, ["Admin"])
    assert await owners(invited) == {"admin"}
    assert told(await own(invited, "admin", is_owner=False)) == (409, "CONFLICT", [])
    assert (await own(invited, "clerk")).status_code == 200
    assert (await own(invited, "admin", is_owner=False)).status_code == 200
    assert await owners(invited) == {"clerk"}
    assert (await own(invited, "stranger")).status_code == 404


async def test_only_the_list_of_members_shows_owners(invited: Invited) -> None:
    await own(invited, "admin")
    listed = (await invited.tenants.call("admin", "GET", "/api/users")).json()["items"]
    assert all("isOwner" not in user for user in listed)


@pytest.mark.promise("POST /api/tenants/current/transfer")
async def test_an_owner_transfers_the_tenant_and_both_are_notified(invited: Invited) -> None:
    await own(invited, "admin")
    await invited.tenants.make_user("second", "acme", ["Admin"])
    await invited.mails()
    answer = await transfer(invited, "admin", "second")
    assert answer.status_code == 200, answer.text
    assert await owners(invited) == {"second"}
    mails = await invited.mails()
    assert sorted(mail.to for mail in mails) == sorted([email_of("admin"), email_of("second")])
    assert all("the owner of Acme at Tenantry was changed" in mail.text for mail in mails)
    assert invited.actions()[-1] == "owner.transferred"
    assert told(await transfer(invited, "admin", "member"))[:2] == (403, "FORBIDDEN")


@pytest.mark.parametrize("way", ["roles", "membership", "account"])
async def test_an_admin_can_make_an_owner_an_admin_and_not_demote_them(invited: Invited, way: str) -> None:
    assert (await own(invited, "clerk")).status_code == 200
    acme, clerk = invited.tenants.tenants["acme"], invited.tenants.users["clerk"]

    def given(roles: list[str]) -> tuple[str, str, Any]:
        return {
            "roles": ("POST", f"/api/users/{clerk}/roles", {"roleNames": roles}),
            "membership": ("POST", f"/api/tenants/{acme}/users", {"userId": clerk, "roles": roles}),
            "account": ("PUT", f"/api/users/{clerk}", {"roles": roles}),
        }[way]

    for roles, code in ((["Admin"], 403), (["Clerk", "Admin"], 200), (["Clerk"], 403), ([], 403)):
        assert (await invited.tenants.call("admin", *given(roles))).status_code == code, roles
    await invited.tenants.log_in("clerk", "acme")
    assert (await invited.tenants.call("clerk", "GET", "/api/users")).status_code == 200


async def with_admins(invited: Invited) -> None:
    """The owner is `admin`. The Admin `second` and `boss`, who has all permissions by another role, own nothing."""
    await own(invited, "admin")
    await invited.tenants.make_role("Boss", "acme", ["*"])
    for name, role in (("second", "Admin"), ("boss", "Boss")):
        await invited.tenants.make_user(name, "acme", [role])
        await invited.tenants.log_in(name, "acme")


@pytest.mark.promise("tenants, owners: a tenant with owners keeps one with the role Admin, super-admins excepted")
@pytest.mark.parametrize("name", ["clerk", "member", "boss"])
async def test_a_transfer_to_a_member_without_the_role_admin_is_refused(invited: Invited, name: str) -> None:
    await with_admins(invited)
    refused = await transfer(invited, "admin", name)
    assert told(refused) == (409, "CONFLICT", ["userId"])
    assert "needs the role Admin" in refused.text
    assert await owners(invited) == {"admin"}


@pytest.mark.promise("tenants, owners: a tenant with owners keeps one with the role Admin, super-admins excepted")
async def test_a_transfer_to_any_member_is_accepted_if_another_owner_has_the_role_admin(invited: Invited) -> None:
    await with_admins(invited)
    await own(invited, "second")
    assert (await transfer(invited, "admin", "clerk")).status_code == 200
    assert await owners(invited) == {"second", "clerk"}
    # Now `second` is the last: it can transfer to neither an owner nor a member without the role.
    for name in ("clerk", "member"):
        assert told(await transfer(invited, "second", name)) == (409, "CONFLICT", ["userId"])
    assert (await transfer(invited, "second", "admin")).status_code == 200
    assert await owners(invited) == {"admin", "clerk"}


WAYS_TO_LOSE_THE_LAST_ABLE_OWNER: dict[str, tuple[str, str, str, Any]] = {
    "leave": ("admin", "POST", "/api/tenants/current/leave", None),
    "end the membership": ("boss", "DELETE", "/api/tenants/{acme}/users/{admin}", None),
    "delete": ("boss", "DELETE", "/api/users/{admin}", None),
    "disable": ("boss", "PUT", "/api/users/{admin}", {"isActive": False}),
    "change the roles": ("boss", "POST", "/api/users/{admin}/roles", {"roleNames": ["Boss"]}),
    "change the membership": ("boss", "POST", "/api/tenants/{acme}/users", {"userId": "{admin}", "roles": ["Boss"]}),
    "delete the own account": ("admin", "DELETE", "/api/auth/me", None),
}


@pytest.mark.promise("tenants, owners: a tenant with owners keeps one with the role Admin, super-admins excepted")
@pytest.mark.parametrize("how", WAYS_TO_LOSE_THE_LAST_ABLE_OWNER)
async def test_the_last_owner_with_the_role_admin_keeps_it(invited: Invited, how: str) -> None:
    """Another owner has all permissions by another role, and another Admin owns nothing."""
    await with_admins(invited)
    await own(invited, "boss")
    whom, method, path, body = WAYS_TO_LOSE_THE_LAST_ABLE_OWNER[how]
    places = {**invited.tenants.tenants, **invited.tenants.users}
    body = body and {key: value.format(**places) if key == "userId" else value for key, value in body.items()}
    refused = await invited.tenants.call(whom, method, path.format(**places), body)
    assert told(refused)[:2] == (409, "CONFLICT"), refused.text
    assert "last owner with the role Admin" in refused.text
    assert (await own(invited, "second")).status_code == 200
    assert (await invited.tenants.call(whom, method, path.format(**places), body)).status_code in (200, 201)


@pytest.mark.promise("tenants, owners: a tenant with owners keeps one with the role Admin, super-admins excepted")
@pytest.mark.parametrize(
    ("method", "body"), [("PUT", {"permissions": ["read:users"]}), ("PUT", {"name": "Helper"}), ("DELETE", None)]
)
async def test_an_owner_cannot_change_or_delete_the_role_admin(invited: Invited, method: str, body: object) -> None:
    await with_admins(invited)
    roles = (await invited.tenants.call("admin", "GET", "/api/roles")).json()["items"]
    (admin_role,) = (role["id"] for role in roles if role["name"] == "Admin")
    refused = await invited.tenants.call("admin", method, f"/api/roles/{admin_role}", body)
    assert told(refused)[:2] == (403, "FORBIDDEN")
    boss = f"/api/roles/{invited.tenants.roles['Boss']}"
    assert (await invited.tenants.call("root in acme", "PUT", boss, {"permissions": ["read:users"]})).status_code == 200


@pytest.mark.promise(
    "tenants, owners: nobody but an owner passes a tenant on, to an active member, with a recent proof"
)
@pytest.mark.parametrize(("whom", "name"), [("clerk", "member"), ("root in acme", "member"), ("clerk", "clerk")])
async def test_only_an_owner_can_transfer_a_tenant(invited: Invited, whom: str, name: str) -> None:
    await own(invited, "admin")
    assert (await transfer(invited, whom, name)).status_code in (400, 403)
    assert await owners(invited) == {"admin"}


@pytest.mark.promise(
    "tenants, owners: nobody but an owner passes a tenant on, to an active member, with a recent proof"
)
async def test_a_tenant_can_be_transferred_only_to_an_active_member(invited: Invited) -> None:
    await own(invited, "admin")
    disabled = f"/api/users/{invited.tenants.users['member']}"
    await invited.tenants.call("admin", "PUT", disabled, {"isActive": False})
    for name in ("stranger", "member", "admin"):
        assert told(await transfer(invited, "admin", name)) == (400, "VALIDATION_ERROR", ["userId"])
    assert await owners(invited) == {"admin"}


@pytest.mark.promise(
    "tenants, owners: nobody but an owner passes a tenant on, to an active member, with a recent proof"
)
async def test_a_transfer_asks_for_a_recent_proof(invited: Invited) -> None:
    await own(invited, "admin")
    services, now = invited.tenants.app.services, invited.clock.now()
    claims = services.tokens.read(invited.tenants.app.tokens["admin"], now)
    invited.tenants.app.tokens["old"] = services.tokens.sign(replace(claims, auth_time=0), now)
    assert told(await transfer(invited, "old", "clerk"))[:2] == (401, "REAUTHENTICATION_REQUIRED")


@pytest.mark.promise("POST /api/tenants/current/leave")
async def test_one_leaves_and_the_token_is_stale(invited: Invited) -> None:
    assert "Acme" in (await invited.tenants.call("member", "GET", "/api/auth/me/complete")).text
    left = await invited.tenants.call("member", "POST", "/api/tenants/current/leave")
    assert left.status_code == 200
    assert email_of("member") not in await invited.members()
    stale = await invited.tenants.call("member", "GET", "/api/auth/me")
    assert told(stale)[:2] == (401, "TOKEN_EXPIRED")
    await invited.tenants.app.login("member", email_of("member"))
    assert "Acme" not in (await invited.tenants.call("member", "GET", "/api/auth/me/complete")).text
    again = await invited.tenants.call("root", "POST", "/api/tenants/current/leave")
    assert again.status_code == 200
    assert (await invited.tenants.call("root in acme", "POST", "/api/tenants/current/leave")).status_code in (401, 404)


async def test_a_service_account_does_not_leave(invited: Invited) -> None:
    services, now = invited.tenants.app.services, invited.clock.now()
    claims = services.tokens.read(invited.tenants.app.tokens["member"], now)
    invited.tenants.app.tokens["machine"] = services.tokens.sign(replace(claims, kind="service"), now)
    left = await invited.tenants.call("machine", "POST", "/api/tenants/current/leave")
    assert told(left)[:2] == (403, "FORBIDDEN")


LOSSES: dict[str, tuple[str, str, Any]] = {
    "leave": ("POST", "/api/tenants/current/leave", None),
    "end the membership": ("DELETE", "/api/tenants/{acme}/users/{admin}", None),
    "delete": ("DELETE", "/api/users/{admin}", None),
    "disable": ("PUT", "/api/users/{admin}", {"isActive": False}),
}


@pytest.mark.promise("tenants, owners: the last owner neither leaves nor is removed, deleted, disabled or demoted")
@pytest.mark.parametrize("how", LOSSES)
async def test_the_last_owner_stays(invited: Invited, how: str) -> None:
    """Another Admin is there, so that it is the owner who is missed."""
    await invited.tenants.make_user("second", "acme", ["Admin"])
    await invited.tenants.log_in("second", "acme")
    await own(invited, "admin")
    method, path, body = LOSSES[how]
    path = path.format(**invited.tenants.tenants, **invited.tenants.users)
    for whom in ("admin", *(("second", "root in acme") if how not in ("leave", "disable") else ())):
        refused = await invited.tenants.call(whom, method, path, body)
        assert told(refused) == (409, "CONFLICT", []), whom
        assert "last owner" in refused.json()["errorMessage"]
    assert (await own(invited, "second")).status_code == 200
    assert (await invited.tenants.call("admin", method, path, body)).status_code == 200
    assert await owners(invited) - {"admin"} == {"second"}


TAKINGS: dict[str, tuple[str, str, Any]] = {
    **{name: loss for name, loss in LOSSES.items() if name != "leave"},
    "change the address": ("PUT", "/api/users/{clerk}", {"email": "mine@acme.example"}),
    "remove the factors": ("DELETE", "/api/users/{clerk}/factors", None),
}


@pytest.mark.parametrize("how", TAKINGS)
async def test_an_owner_is_safe_from_administrators_who_own_nothing(invited: Invited, how: str) -> None:
    await own(invited, "admin")
    await own(invited, "clerk")
    await invited.tenants.make_user("second", "acme", ["Admin"])
    await invited.tenants.log_in("second", "acme")
    method, path, body = TAKINGS[how]
    path = path.replace("{admin}", "{clerk}").format(**invited.tenants.tenants, **invited.tenants.users)
    refused = await invited.tenants.call("second", method, path, body)
    assert told(refused) == (403, "FORBIDDEN", [])
    assert "owns the tenant" in refused.json()["errorMessage"]
    assert await owners(invited) == {"admin", "clerk"}
    assert (await invited.tenants.call("admin", method, path, body)).status_code == 200


async def test_administrators_can_change_an_owner_without_demoting_them(invited: Invited) -> None:
    await own(invited, "clerk")
    path = f"/api/users/{invited.tenants.users['clerk']}"
    same = {"fullName": "Clara Clerk", "email": email_of("clerk"), "isActive": True, "roles": ["Clerk"]}
    assert (await invited.tenants.call("admin", "PUT", path, same)).status_code == 200
    assert (await invited.tenants.call("admin", "POST", f"{path}/unlock")).status_code == 200
    mine = {"email": "clara@acme.example"}
    assert (await invited.tenants.call("root in acme", "PUT", path, mine)).status_code == 200


async def test_the_last_owner_cannot_be_deleted_even_with_a_membership_elsewhere(invited: Invited) -> None:
    await invited.tenants.make_user("second", "acme", ["Admin"])
    await invited.tenants.log_in("second", "acme")
    await join(invited.tenants, "admin", "other")
    await own(invited, "admin")
    path = f"/api/users/{invited.tenants.users['admin']}"
    refused = await invited.tenants.call("second", "DELETE", path)
    assert told(refused) == (409, "CONFLICT", [])
    assert await owners(invited) == {"admin"}
    assert (await own(invited, "second")).status_code == 200
    assert (await invited.tenants.call("second", "DELETE", path)).status_code == 200
    assert await owners(invited) == {"second"}


async def test_the_owner_of_another_tenant_leaves_ones_own(invited: Invited) -> None:
    other, stranger = invited.tenants.tenants["other"], invited.tenants.users["stranger"]
    await invited.tenants.call("root", "PUT", f"/api/tenants/{other}/users/{stranger}", {"isOwner": True})
    await join(invited.tenants, "stranger", "acme")
    assert (await invited.tenants.call("admin", "DELETE", f"/api/users/{stranger}")).status_code == 200
    assert email_of("stranger") not in await invited.members()
    left = (await invited.tenants.call("root", "GET", f"/api/tenants/{other}/users")).json()["data"]["items"]
    assert [member["email"] for member in left if member["isOwner"]] == [email_of("stranger")]


@pytest.mark.promise("tenants, owners: the last owner neither leaves nor is removed, deleted, disabled or demoted")
async def test_a_super_admin_does_not_delete_the_account_of_a_last_owner(invited: Invited) -> None:
    await own(invited, "admin")
    path = f"/api/users/{invited.tenants.users['admin']}"
    await invited.tenants.app.login("root", "admin@example.com", SYSTEM)
    assert told(await invited.tenants.call("root", "DELETE", path)) == (409, "CONFLICT", [])
    assert (await own(invited, "clerk")).status_code == 200
    assert (await invited.tenants.call("root", "DELETE", path)).status_code == 200


@pytest.mark.promise("tenants, owners: of two last owners who leave at once, one stays")
async def test_one_of_two_last_owners_remains_when_both_leave_concurrently(invited: Invited) -> None:
    await own(invited, "clerk")
    await own(invited, "member")
    answers = await asyncio.gather(
        *(invited.tenants.call(whom, "POST", "/api/tenants/current/leave") for whom in ("clerk", "member"))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert len(await owners(invited)) == 1


async def test_replacing_roles_leaves_the_owner_an_owner(invited: Invited) -> None:
    await own(invited, "clerk")
    path = f"/api/users/{invited.tenants.users['clerk']}/roles"
    assert (await invited.tenants.call("root in acme", "POST", path, {"roleNames": []})).status_code == 200
    assert await owners(invited) == {"clerk"}
