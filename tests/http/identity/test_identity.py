"""Area A on the wire: every field of every answer, and what becomes of tokens and sessions."""

import base64
import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from msgspec.structs import replace

from adapters.memory.clock import START, MovableClock
from application.ports.shared_memory import TOMBSTONE
from domain.scope import SYSTEM_TENANT_ID, EveryTenant
from tests.http.app import ADMIN, PASSWORD, Json, open_test_app
from tests.http.two_tenants import TwoTenants, email_of

SYSTEM = str(SYSTEM_TENANT_ID)
PAIR = {"token", "refreshToken", "expiresAt", "isGlobal", "tokenType"}
LOGIN = PAIR | {
    "permissions",
    "isFirstLogin",
    "mustChangePassword",
    "daysUntilPasswordExpiration",
    "requiresTenantSelection",
    "currentTenant",
    "smartAutoSwitched",
}
CLAIMS = {
    "iss", "aud", "sub", "jti", "sid", "iat", "nbf", "exp", "token_type", "tenant_id", "permissions", "roles", "name",
    "email", "rev", "ver",
}  # fmt: skip


def claims_of(token: str) -> Json:
    payload = token.split(".")[1]
    claims: Json = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims


def move(tenants: TwoTenants, by: timedelta) -> None:
    clock = tenants.app.adapters.clock
    assert isinstance(clock, MovableClock)
    clock.move(by)


async def try_login(tenants: TwoTenants, name: str, **more: object) -> httpx.Response:
    email = name if "@" in name else email_of(name)
    body = {"email": email, "password": PASSWORD, "isPasswordEncrypted": False, **more}
    return await tenants.app.call("POST", "/api/auth/login", json=body)


async def log_in(tenants: TwoTenants, name: str, **more: object) -> Json:
    answer = await try_login(tenants, name, **more)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"isSuccess", "data"}
    assert answer.json()["isSuccess"] is True
    data: Json = answer.json()["data"]
    return data


async def refresh(tenants: TwoTenants, refresh_token: str, **more: object) -> httpx.Response:
    return await tenants.app.call("POST", "/api/auth/refresh", json={"refreshToken": refresh_token, **more})


async def join(tenants: TwoTenants, name: str, identifier: str, roles: list[str] | None = None) -> None:
    body = {"userId": tenants.users[name], "roles": roles or []}
    answer = await tenants.call("root", "POST", f"/api/tenants/{tenants.tenants[identifier]}/users", body)
    assert answer.status_code == 201, answer.text


async def leave(tenants: TwoTenants, name: str, identifier: str) -> None:
    path = f"/api/tenants/{tenants.tenants[identifier]}/users/{tenants.users[name]}"
    assert (await tenants.call("root", "DELETE", path)).status_code == 200


# The state table.


async def test_one_tenant_gives_its_token_at_once(tenants: TwoTenants) -> None:
    data = await log_in(tenants, "clerk")
    assert data.keys() == LOGIN
    assert (data["isGlobal"], data["tokenType"], data["smartAutoSwitched"]) == (False, "Tenant", True)
    assert data["requiresTenantSelection"] is False
    acme = {"id": tenants.tenants["acme"], "name": "Acme", "isDefault": True, "permissions": data["permissions"]}
    assert data["currentTenant"] == acme
    assert "update:users" in data["permissions"]
    assert datetime.fromisoformat(data["expiresAt"]) == START + timedelta(minutes=60)
    claims = claims_of(data["token"])
    assert claims.keys() == CLAIMS
    assert (claims["token_type"], claims["tenant_id"], claims["roles"]) == (
        "Tenant",
        tenants.tenants["acme"],
        ["Clerk"],
    )
    assert (claims["sub"], claims["exp"] - claims["iat"]) == (tenants.users["clerk"], 3_600)


async def test_several_tenants_give_a_global_token_that_selects_one(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    data = await log_in(tenants, "member")
    assert data.keys() == LOGIN | {"availableTenants"}
    assert (data["isGlobal"], data["tokenType"], data["requiresTenantSelection"]) == (True, "Global", True)
    assert (data["permissions"], data["currentTenant"], data["smartAutoSwitched"]) == ([], None, False)
    assert data["availableTenants"] == [
        {"id": tenants.tenants["acme"], "name": "Acme", "isDefault": True},
        {"id": tenants.tenants["other"], "name": "Other", "isDefault": False},
    ]
    assert datetime.fromisoformat(data["expiresAt"]) == START + timedelta(minutes=2)
    claims = claims_of(data["token"])
    assert claims.keys() == (CLAIMS - {"tenant_id"}) | {"scope"}
    assert (claims["scope"], claims["permissions"]) == ("tenant-selector-only", [])


async def test_no_tenant_gives_a_global_token_with_nothing_to_select(tenants: TwoTenants) -> None:
    await leave(tenants, "member", "acme")
    data = await log_in(tenants, "member")
    assert data.keys() == LOGIN
    assert (data["isGlobal"], data["requiresTenantSelection"], data["currentTenant"]) == (True, False, None)


async def test_a_preferred_tenant_gives_its_token(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    data = await log_in(tenants, "member", preferredTenantId=tenants.tenants["other"])
    assert (data["tokenType"], data["smartAutoSwitched"]) == ("Tenant", False)
    assert data["currentTenant"]["id"] == tenants.tenants["other"]


async def test_a_preferred_tenant_that_is_no_active_membership_is_forbidden(tenants: TwoTenants) -> None:
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['acme']}", {"isActive": False})
    for tenant_id in (tenants.tenants["other"], tenants.tenants["acme"], SYSTEM[:-1] + "9"):
        answer = await try_login(tenants, "member", preferredTenantId=tenant_id)
        assert (answer.status_code, answer.json()["errorCode"]) == (403, "FORBIDDEN")


async def test_inactive_tenants_do_not_count(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['acme']}", {"isActive": False})
    data = await log_in(tenants, "member")
    assert (data["smartAutoSwitched"], data["currentTenant"]["id"]) == (True, tenants.tenants["other"])


async def test_switching_answers_a_pair_for_the_tenant(tenants: TwoTenants) -> None:
    """From a Global Token, and from another tenant's."""
    await join(tenants, "member", "other")
    tenants.app.tokens["chooser"] = (await log_in(tenants, "member"))["token"]
    for identifier, is_default in (("acme", True), ("other", False)):
        answer = await tenants.call(
            "chooser", "POST", "/api/auth/switch-tenant", {"tenantId": tenants.tenants[identifier]}
        )
        data = answer.json()["data"]
        assert data.keys() == PAIR | {"currentTenant"}
        tenant = {"id": tenants.tenants[identifier], "name": identifier.title(), "isDefault": is_default}
        assert (data["isGlobal"], data["tokenType"], data["currentTenant"]) == (False, "Tenant", tenant)
        assert claims_of(data["token"])["tenant_id"] == tenants.tenants[identifier]
        tenants.app.tokens["chooser"] = data["token"]


async def test_switching_makes_the_refresh_token_from_before_a_spent_one(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    before = await log_in(tenants, "member")
    tenants.app.tokens["chooser"] = before["token"]
    body = {"tenantId": tenants.tenants["acme"]}
    after = (await tenants.call("chooser", "POST", "/api/auth/switch-tenant", body)).json()["data"]
    assert after["refreshToken"] != before["refreshToken"]
    move(tenants, timedelta(seconds=31))
    assert (await refresh(tenants, before["refreshToken"])).status_code == 401
    assert (await refresh(tenants, after["refreshToken"])).status_code == 401


@pytest.mark.parametrize("whither", ["stranger's", "closed", "nowhere"])
async def test_nobody_switches_or_refreshes_into_a_tenant_they_are_not_in(tenants: TwoTenants, whither: str) -> None:
    """All alike; and the refresh token is as good as before."""
    await join(tenants, "member", "other")
    session = await log_in(tenants, "member", preferredTenantId=tenants.tenants["acme"])
    tenants.app.tokens["member"] = session["token"]
    if whither == "stranger's":
        await leave(tenants, "member", "other")
        session = await log_in(tenants, "member", preferredTenantId=tenants.tenants["acme"])
        tenants.app.tokens["member"] = session["token"]
    if whither == "closed":
        await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['other']}", {"isActive": False})
    target = SYSTEM[:-1] + "9" if whither == "nowhere" else tenants.tenants["other"]
    switched = await tenants.call("member", "POST", "/api/auth/switch-tenant", {"tenantId": target})
    refreshed = await refresh(tenants, session["refreshToken"], tenantId=target)
    for answer in (switched, refreshed):
        assert (answer.status_code, answer.json()["errorMessage"]) == (403, "You are not a member of this tenant.")
    assert (await refresh(tenants, session["refreshToken"])).status_code == 200


async def test_refreshing_keeps_the_tenant_unless_another_is_named(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    session = await log_in(tenants, "member", preferredTenantId=tenants.tenants["acme"])
    kept = (await refresh(tenants, session["refreshToken"])).json()["data"]
    assert kept.keys() == PAIR | {"permissions"}
    assert claims_of(kept["token"])["tenant_id"] == tenants.tenants["acme"]
    assert kept["refreshToken"] != session["refreshToken"]
    moved = (await refresh(tenants, kept["refreshToken"], tenantId=tenants.tenants["other"])).json()["data"]
    assert claims_of(moved["token"])["tenant_id"] == tenants.tenants["other"]
    again = (await refresh(tenants, moved["refreshToken"])).json()["data"]
    assert claims_of(again["token"])["tenant_id"] == tenants.tenants["other"]


async def test_refreshing_a_global_session_keeps_it_global_for_ten_minutes(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    session = await log_in(tenants, "member")
    move(tenants, timedelta(minutes=9))
    kept = (await refresh(tenants, session["refreshToken"])).json()["data"]
    assert (kept["isGlobal"], kept["tokenType"], kept["permissions"]) == (True, "Global", [])
    move(tenants, timedelta(minutes=1))
    late = await refresh(tenants, kept["refreshToken"])
    assert (late.status_code, late.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


async def test_a_super_admin_goes_to_any_active_tenant(tenants: TwoTenants) -> None:
    acme = tenants.tenants["acme"]
    assert (await log_in(tenants, ADMIN, preferredTenantId=acme))["currentTenant"]["id"] == acme
    answer = await tenants.call("root", "POST", "/api/auth/switch-tenant", {"tenantId": acme})
    claims = claims_of(answer.json()["data"]["token"])
    assert (claims["super_admin"], claims["tenant_id"], claims["permissions"]) == (True, acme, ["*"])
    await tenants.call("root", "PUT", f"/api/tenants/{acme}", {"isActive": False})
    assert (await try_login(tenants, ADMIN, preferredTenantId=acme)).status_code == 403


# Sessions.


async def test_the_last_spent_refresh_token_gets_the_same_successor_within_the_grace(tenants: TwoTenants) -> None:
    session = await log_in(tenants, "member")
    first = (await refresh(tenants, session["refreshToken"])).json()["data"]
    move(tenants, timedelta(seconds=29))
    again = (await refresh(tenants, session["refreshToken"])).json()["data"]
    assert again["refreshToken"] == first["refreshToken"]
    move(tenants, timedelta(seconds=1))
    stolen = await refresh(tenants, session["refreshToken"])
    assert (stolen.status_code, stolen.json()["errorCode"]) == (401, "TOKEN_INVALID")
    tenants.app.tokens["member"] = first["token"]
    dead = await tenants.call("member", "GET", "/api/auth/me")
    assert (dead.status_code, dead.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert (await refresh(tenants, first["refreshToken"])).status_code == 401


async def test_a_session_ends_when_it_is_not_used_and_when_it_is_old(tenants: TwoTenants) -> None:
    unused, used = await log_in(tenants, "member"), await log_in(tenants, "clerk")
    for _ in range(4):
        move(tenants, timedelta(days=6, hours=1))
        used = (await refresh(tenants, used["refreshToken"])).json()["data"]
    move(tenants, timedelta(days=6, hours=1))
    for session in (used, unused):
        answer = await refresh(tenants, session["refreshToken"])
        assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


async def test_an_access_token_ends_with_its_time(tenants: TwoTenants) -> None:
    move(tenants, timedelta(minutes=60, seconds=6))
    answer = await tenants.call("clerk", "GET", "/api/auth/me")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    assert "WWW-Authenticate" in answer.headers


async def test_a_logout_ends_every_session_and_token_of_the_user(tenants: TwoTenants) -> None:
    sessions = [await log_in(tenants, "member") for _ in range(2)]
    tenants.app.tokens["member"] = sessions[0]["token"]
    answer = await tenants.call("member", "POST", "/api/auth/logout")
    assert answer.status_code == 200
    assert answer.json().keys() == {"isSuccess", "message"}
    for session in sessions:
        tenants.app.tokens["member"] = session["token"]
        assert (await tenants.call("member", "GET", "/api/auth/me")).json()["errorCode"] == "TOKEN_INVALID"
        assert (await refresh(tenants, session["refreshToken"])).status_code == 401
    await log_in(tenants, "member")


async def test_a_disabled_account_is_told_and_its_tokens_are_dead(tenants: TwoTenants) -> None:
    session = await log_in(tenants, "member")
    await tenants.call("admin", "PUT", f"/api/users/{tenants.users['member']}", {"isActive": False})
    tenants.app.tokens["member"] = session["token"]
    assert (await tenants.call("member", "GET", "/api/auth/me")).json()["errorCode"] == "TOKEN_INVALID"
    answer = await try_login(tenants, "member")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "ACCOUNT_DISABLED")


async def test_a_lock_is_shown_and_lifted(tenants: TwoTenants) -> None:
    wrong = {"email": email_of("member"), "password": "wrong", "isPasswordEncrypted": False}
    for _ in range(5):
        await tenants.app.call("POST", "/api/auth/login", json=wrong)
    answer = await try_login(tenants, "member")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "ACCOUNT_LOCKED")
    path = f"/api/users/{tenants.users['member']}"
    shown = (await tenants.call("admin", "GET", path)).json()["data"]
    until = START + timedelta(minutes=15)
    assert (shown["isLocked"], datetime.fromisoformat(shown["lockedUntil"])) == (True, until)
    lifted = (await tenants.call("admin", "POST", f"{path}/unlock")).json()["data"]
    assert (lifted["isLocked"], lifted["lockedUntil"]) == (False, None)
    await log_in(tenants, "member")


async def test_a_login_is_told_about_its_password_and_those_before_it(tenants: TwoTenants) -> None:
    await tenants.make_user("new", "acme", [])
    first, second = await log_in(tenants, "new"), await log_in(tenants, "new")
    assert (first["isFirstLogin"], second["isFirstLogin"]) == (True, False)
    assert first["mustChangePassword"] is True  # an administrator set it
    assert first["daysUntilPasswordExpiration"] is None


async def test_passwords_age_where_they_are_told_to() -> None:
    app = await open_test_app({"TENANTRY_PASSWORD_MAX_AGE_DAYS": "30"})
    clock = app.adapters.clock
    assert isinstance(clock, MovableClock)
    seen: list[tuple[Any, Any]] = []
    for days in (0, 29, 1):
        clock.move(timedelta(days=days))
        data = await app.login("root", ADMIN)
        seen.append((data["daysUntilPasswordExpiration"], data["mustChangePassword"]))
    assert seen == [(30, False), (1, False), (0, True)]


# Shapes.

USER = {"id", "email", "fullName", "roles", "isActive", "createdAt"}
DETAIL = USER | {
    "phoneNumber", "profilePictureUrl", "emailConfirmed", "isLocked", "lockedUntil", "mustChangePassword",
    "lastLoginAt", "updatedAt", "tenants",
}  # fmt: skip
PAGE = {"items", "totalCount", "page", "pageSize", "totalPages"}
TENANT = {"id", "name", "identifier", "domain", "isActive", "createdAt", "settings"}
SETTINGS = {"timezone", "language", "currency", "enabledFeatures", "customSettings"}
MEMBERSHIP = {"userId", "tenantId", "roles", "isDefault", "joinedAt"}


async def test_me_is_what_the_token_says(tenants: TwoTenants) -> None:
    data = (await tenants.call("clerk", "GET", "/api/auth/me")).json()["data"]
    assert data.keys() == {"id", "name", "email", "roles", "permissions"}
    assert (data["id"], data["email"], data["roles"]) == (tenants.users["clerk"], email_of("clerk"), ["Clerk"])


async def test_me_needs_no_database(tenants: TwoTenants) -> None:
    await tenants.call("clerk", "GET", "/api/auth/me")
    tenants.app.adapters.database.down = True  # type: ignore[attr-defined]
    assert (await tenants.call("clerk", "GET", "/api/auth/me")).status_code == 200


async def test_the_profile_is_the_database_s_and_remembered_for_half_an_hour(tenants: TwoTenants) -> None:
    paths = ("/api/auth/me?include=profile", "/api/auth/me/complete")
    first, second = [(await tenants.call("clerk", "GET", path)).json()["data"] for path in paths]
    assert first == second
    assert first.keys() == {
        "id", "email", "fullName", "phoneNumber", "profilePictureUrl", "emailConfirmed", "roles", "permissions",
        "tenants", "createdAt", "lastLoginAt",
    }  # fmt: skip
    assert first["tenants"] == [{"id": tenants.tenants["acme"], "name": "Acme", "isDefault": True}]
    await tenants.call("admin", "PUT", f"/api/users/{tenants.users['clerk']}", {"fullName": "Renamed"})
    assert (await tenants.call("clerk", "GET", paths[0])).json()["data"]["fullName"] == "Renamed"


async def test_the_profile_shows_what_became_of_a_tenant_at_once(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    path = f"/api/tenants/{tenants.tenants['other']}"

    async def seen() -> list[str]:
        names = []
        for name in ("member", "clerk"):
            answer = await tenants.call(name, "GET", "/api/auth/me/complete")
            names.append(",".join(one["name"] for one in answer.json()["data"]["tenants"]))
        return names

    await tenants.app.login("member", email_of("member"), tenants.tenants["acme"])
    move(tenants, TOMBSTONE)
    assert await seen() == ["Acme,Other", "Acme"]
    await tenants.call("root", "PUT", path, {"name": "Otherwise"})
    assert await seen() == ["Acme,Otherwise", "Acme"]
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['acme']}", {"name": "Ac"})
    assert await seen() == ["Ac,Otherwise", "Ac"]
    await tenants.call("root", "PUT", path, {"isActive": False})
    assert await seen() == ["Ac,Otherwise", "Ac"]
    await tenants.call("root", "DELETE", path)
    assert await seen() == ["Ac", "Ac"]


async def test_the_profile_is_kept_while_no_tenant_changes(tenants: TwoTenants) -> None:
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['other']}", {"name": "Otherwise"})
    move(tenants, TOMBSTONE)
    first = await tenants.call("clerk", "GET", "/api/auth/me/complete")
    async with tenants.app.adapters.database.transaction(EveryTenant()) as tx:
        standing = await tx.users.state(UUID(tenants.users["clerk"]))
        assert standing is not None
        await tx.users.save(replace(standing.user, full_name="Unseen"), standing.user)
    assert (await tenants.call("clerk", "GET", "/api/auth/me/complete")).json() == first.json()


async def test_users_are_listed_bare_and_read_whole(tenants: TwoTenants) -> None:
    listed = (await tenants.call("admin", "GET", "/api/users?search=CLERK&role=Clerk&isActive=true")).json()
    assert listed.keys() == PAGE
    (clerk,) = listed["items"]
    assert clerk.keys() == USER
    assert (clerk["id"], clerk["roles"], listed["totalCount"]) == (tenants.users["clerk"], ["Clerk"], 1)
    read = (await tenants.call("admin", "GET", f"/api/users/{clerk['id']}")).json()
    assert read.keys() == {"isSuccess", "data"}
    assert read["data"].keys() == DETAIL


async def test_the_list_of_users_is_ordered_and_clamped(tenants: TwoTenants) -> None:
    asked = "/api/users?sortBy=email&sortDirection=asc&pageSize=500"
    listed = (await tenants.call("admin", "GET", asked)).json()
    emails = [one["email"] for one in listed["items"]]
    assert emails == sorted(emails)
    assert (listed["pageSize"], listed["page"], listed["totalPages"]) == (100, 1, 1)
    second = (await tenants.call("admin", "GET", "/api/users?pageSize=2&page=2")).json()
    assert (len(second["items"]), second["totalCount"], second["totalPages"]) == (1, 3, 2)


async def test_a_user_is_made_changed_and_deleted(tenants: TwoTenants) -> None:
    body = {"email": "new@acme.example", "password": PASSWORD, "fullName": "New", "roles": ["Reader"]}
    made = await tenants.call("admin", "POST", "/api/users", body)
    data = made.json()["data"]
    assert (made.status_code, made.headers["Location"]) == (201, f"/api/users/{data['id']}")
    assert (data.keys(), data["roles"], data["emailConfirmed"]) == (DETAIL, ["Reader"], True)
    path, change = f"/api/users/{data['id']}", {"phoneNumber": "+49 30 1", "roles": [], "email": "other@acme.example"}
    changed = (await tenants.call("admin", "PUT", path, change)).json()["data"]
    assert (changed["phoneNumber"], changed["roles"], changed["fullName"]) == ("+49 30 1", [], "New")
    assert (changed["email"], changed["emailConfirmed"]) == ("other@acme.example", False)
    given = await tenants.call("admin", "POST", f"{path}/roles", {"roleNames": ["Reader"]})
    assert (given.status_code, given.json()["data"]["roles"]) == (200, ["Reader"])
    gone = await tenants.call("admin", "DELETE", path)
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})
    assert (await tenants.call("admin", "GET", path)).status_code == 404


async def test_unknown_role_names_are_told_on_their_field(tenants: TwoTenants) -> None:
    for method, path, body, field in (
        ("POST", f"/api/users/{tenants.users['member']}/roles", {"roleNames": ["X"]}, "roleNames"),
        ("PUT", f"/api/users/{tenants.users['member']}", {"roles": ["X"]}, "roles"),
    ):
        answer = await tenants.call("admin", method, path, body)
        assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (400, [field])


async def test_from_system_users_and_roles_are_as_such(tenants: TwoTenants) -> None:
    """A user made there has no membership, and the roles are held everywhere."""
    new = {"email": "as@such.example", "password": PASSWORD, "fullName": "As Such", "roles": ["Admin"]}
    made = (await tenants.call("root", "POST", "/api/users", new)).json()["data"]
    assert (made["roles"], made["tenants"]) == (["Admin"], [])
    tenants.users["such"] = made["id"]
    await join(tenants, "such", "acme")
    data = await log_in(tenants, "as@such.example")
    assert (data["currentTenant"]["id"], data["permissions"]) == (tenants.tenants["acme"], ["*"])
    assert (await tenants.call("root", "GET", "/api/users?pageSize=100")).json()["totalCount"] == 6


async def test_roles_are_listed_with_their_holders(tenants: TwoTenants) -> None:
    listed = (await tenants.call("admin", "GET", "/api/roles")).json()
    assert listed.keys() == {"items"}
    roles = {one["name"]: one for one in listed["items"]}
    assert roles.keys() == {"Admin", "Clerk", "Member", "Reader", "SuperAdmin"}
    assert roles["Clerk"].keys() == {"id", "name", "description", "permissions", "isSystem", "userCount"}
    assert (roles["Clerk"]["userCount"], roles["Clerk"]["isSystem"], roles["Admin"]["isSystem"]) == (1, False, True)
    assert roles["Admin"]["permissions"] == ["*"]


async def test_a_role_is_made_changed_and_deleted(tenants: TwoTenants) -> None:
    body = {"name": "New", "description": "for a test", "permissions": ["read:users", "read:*"]}
    made = await tenants.call("admin", "POST", "/api/roles", body)
    data = made.json()["data"]
    assert (made.status_code, made.headers["Location"]) == (201, f"/api/roles/{data['id']}")
    assert data["permissions"] == ["read:*"]
    changed = await tenants.call("admin", "PUT", f"/api/roles/{data['id']}", {**body, "permissions": []})
    assert (changed.status_code, changed.json()["data"]["permissions"]) == (200, [])
    gone = await tenants.call("admin", "DELETE", f"/api/roles/{data['id']}")
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})


async def test_permissions_are_listed_and_made(tenants: TwoTenants) -> None:
    body = {"name": "paint:walls", "description": "with a brush", "category": "painting"}
    made = await tenants.call("root", "POST", "/api/permissions", body)
    assert (made.status_code, made.json()["data"].keys()) == (201, {"id", "name", "description", "category"})
    listed = (await tenants.call("admin", "GET", "/api/permissions")).json()
    assert listed.keys() == {"items"}
    names = [one["name"] for one in listed["items"]]
    assert names == sorted(names)
    assert {"paint:walls", "read:users", "create:products", "delete:reviews"} <= set(names)
    assert (await tenants.call("root", "POST", "/api/permissions", body)).status_code == 409


async def test_a_tenant_is_made_read_changed_and_deleted(tenants: TwoTenants) -> None:
    settings = {"timezone": "Europe/Berlin", "language": "de-DE", "features": ["exports"]}
    made = await tenants.call(
        "root",
        "POST",
        "/api/tenants",
        {"name": "New", "identifier": "new", "domain": "new.example", "settings": settings},
    )
    data = made.json()["data"]
    path = f"/api/tenants/{data['id']}"
    assert (made.status_code, made.headers["Location"]) == (201, path)
    assert (data.keys(), data["settings"].keys(), data["isActive"]) == (TENANT, SETTINGS, True)
    assert (data["settings"]["enabledFeatures"], data["settings"]["currency"]) == (["exports"], "USD")
    assert (await tenants.call("root", "GET", path)).json()["data"] == data
    changed = (await tenants.call("root", "PUT", path, {"isActive": False, "name": "Newer"})).json()["data"]
    assert (changed["isActive"], changed["name"], changed["domain"]) == (False, "Newer", "new.example")
    gone = await tenants.call("root", "DELETE", path)
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})
    assert (await tenants.call("root", "GET", path)).status_code == 404


async def test_tenants_are_listed_in_the_envelope(tenants: TwoTenants) -> None:
    listed = (await tenants.call("root", "GET", "/api/tenants?sortBy=identifier&sortDirection=asc&search=a")).json()
    assert listed.keys() == {"isSuccess", "data"}
    assert listed["data"].keys() == PAGE
    assert listed["data"]["items"][0].keys() == TENANT
    assert [one["identifier"] for one in listed["data"]["items"]] == ["acme"]


async def test_settings_have_their_defaults(tenants: TwoTenants) -> None:
    current = (await tenants.call("admin", "GET", "/api/tenants/current")).json()["data"]
    assert (current.keys(), current["id"]) == (TENANT, tenants.tenants["acme"])
    assert current["settings"] == {
        "timezone": "UTC", "language": "en-US", "currency": "USD", "enabledFeatures": [], "customSettings": {},
    }  # fmt: skip


async def test_the_tenant_system_stays(tenants: TwoTenants) -> None:
    for method, body in (("DELETE", None), ("PUT", {"isActive": False}), ("PUT", {"identifier": "other-name"})):
        answer = await tenants.call("root", method, f"/api/tenants/{SYSTEM}", body)
        assert (answer.status_code, answer.json()["errorCode"]) == (409, "CONFLICT")


async def test_a_membership_is_made_replaced_listed_and_ended(tenants: TwoTenants) -> None:
    path = f"/api/tenants/{tenants.tenants['other']}/users"
    body = {"userId": tenants.users["member"], "roles": ["Member"]}
    made = await tenants.call("root", "POST", path, body)
    assert (made.status_code, made.json()["data"].keys()) == (201, MEMBERSHIP)
    assert (made.json()["data"]["roles"], made.json()["data"]["isDefault"]) == (["Member"], False)
    replaced = await tenants.call("root", "POST", path, {**body, "roles": [], "isDefault": True})
    assert (replaced.status_code, replaced.json()["data"]["roles"]) == (200, [])
    assert replaced.json()["data"]["isDefault"] is True
    listed = (await tenants.call("root", "GET", path)).json()
    assert (listed.keys(), listed["data"].keys()) == ({"isSuccess", "data"}, PAGE)
    assert tenants.users["member"] in [one["id"] for one in listed["data"]["items"]]
    ended = await tenants.call("root", "DELETE", f"{path}/{tenants.users['member']}")
    assert (ended.status_code, ended.json().keys()) == (200, {"isSuccess", "message"})
    assert (await log_in(tenants, "member"))["currentTenant"]["isDefault"] is True


async def test_a_closed_tenant_takes_nobody_and_its_tokens_are_stale(tenants: TwoTenants) -> None:
    session = await log_in(tenants, "member")
    tenants.app.tokens["member"] = session["token"]
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['acme']}", {"isActive": False})
    dead = await tenants.call("member", "GET", "/api/auth/me")
    assert (dead.status_code, dead.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    assert (await refresh(tenants, session["refreshToken"])).status_code == 403
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['acme']}", {"isActive": True})
    assert (await refresh(tenants, session["refreshToken"])).status_code == 200


async def test_a_token_of_one_kind_is_none_of_another(tenants: TwoTenants) -> None:
    session = await log_in(tenants, "member")
    tenants.app.tokens["wrong"] = session["refreshToken"]
    answer = await tenants.call("wrong", "GET", "/api/auth/me")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert (await refresh(tenants, session["token"])).json()["errorCode"] == "TOKEN_INVALID"


async def test_administration_is_in_the_audit_trail(tenants: TwoTenants) -> None:
    path = f"/api/users/{tenants.users['member']}"
    await tenants.call("admin", "PUT", path, {"fullName": "Renamed"})
    await tenants.call("admin", "POST", f"{path}/roles", {"roleNames": ["Reader"]})
    await tenants.call("admin", "PUT", f"/api/roles/{tenants.roles['Reader']}", {"name": "Reader", "permissions": []})
    await tenants.call("admin", "DELETE", path)
    trail = (await tenants.call("admin", "GET", "/api/audit-events?pageSize=100")).json()["data"]["items"]
    mine = {one["action"]: one for one in trail if one["actorId"] == tenants.users["admin"]}
    assert {"user.changed", "user.roles-changed", "role.changed", "user.deleted", "login.succeeded"} <= mine.keys()
    changed = mine["user.changed"]
    assert (changed["targetId"], changed["tenantId"]) == (tenants.users["member"], tenants.tenants["acme"])
    assert {"address", "requestId", "occurredAt"} <= changed.keys()
    elsewhere = (await tenants.call("stranger", "GET", "/api/audit-events?pageSize=100")).json()["data"]["items"]
    assert not {one["id"] for one in elsewhere} & {one["id"] for one in trail}
