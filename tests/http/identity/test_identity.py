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
from application.ports.cache import TOMBSTONE
from domain.scope import SYSTEM_TENANT_ID, EveryTenant
from tests.http.app import ADMIN, PASSWORD, Json, open_place
from tests.http.two_tenants import Town, email_of

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


def move(town: Town, by: timedelta) -> None:
    clock = town.place.world.clock
    assert isinstance(clock, MovableClock)
    clock.move(by)


async def try_login(town: Town, name: str, **more: object) -> httpx.Response:
    email = name if "@" in name else email_of(name)
    body = {"email": email, "password": PASSWORD, "isPasswordEncrypted": False, **more}
    return await town.place.call("POST", "/api/auth/login", json=body)


async def log_in(town: Town, name: str, **more: object) -> Json:
    answer = await try_login(town, name, **more)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"isSuccess", "data"}
    assert answer.json()["isSuccess"] is True
    data: Json = answer.json()["data"]
    return data


async def refresh(town: Town, refresh_token: str, **more: object) -> httpx.Response:
    return await town.place.call("POST", "/api/auth/refresh", json={"refreshToken": refresh_token, **more})


async def join(town: Town, name: str, identifier: str, roles: list[str] | None = None) -> None:
    body = {"userId": town.users[name], "roles": roles or []}
    answer = await town.call("root", "POST", f"/api/tenants/{town.tenants[identifier]}/users", body)
    assert answer.status_code == 201, answer.text


async def leave(town: Town, name: str, identifier: str) -> None:
    path = f"/api/tenants/{town.tenants[identifier]}/users/{town.users[name]}"
    assert (await town.call("root", "DELETE", path)).status_code == 200


# The state table.


async def test_one_tenant_gives_its_token_at_once(town: Town) -> None:
    data = await log_in(town, "clerk")
    assert data.keys() == LOGIN
    assert (data["isGlobal"], data["tokenType"], data["smartAutoSwitched"]) == (False, "Tenant", True)
    assert data["requiresTenantSelection"] is False
    acme = {"id": town.tenants["acme"], "name": "Acme", "isDefault": True, "permissions": data["permissions"]}
    assert data["currentTenant"] == acme
    assert "update:users" in data["permissions"]
    assert datetime.fromisoformat(data["expiresAt"]) == START + timedelta(minutes=60)
    claims = claims_of(data["token"])
    assert claims.keys() == CLAIMS
    assert (claims["token_type"], claims["tenant_id"], claims["roles"]) == ("Tenant", town.tenants["acme"], ["Clerk"])
    assert (claims["sub"], claims["exp"] - claims["iat"]) == (town.users["clerk"], 3_600)


async def test_several_tenants_give_a_global_token_that_selects_one(town: Town) -> None:
    await join(town, "member", "other")
    data = await log_in(town, "member")
    assert data.keys() == LOGIN | {"availableTenants"}
    assert (data["isGlobal"], data["tokenType"], data["requiresTenantSelection"]) == (True, "Global", True)
    assert (data["permissions"], data["currentTenant"], data["smartAutoSwitched"]) == ([], None, False)
    assert data["availableTenants"] == [
        {"id": town.tenants["acme"], "name": "Acme", "isDefault": True},
        {"id": town.tenants["other"], "name": "Other", "isDefault": False},
    ]
    assert datetime.fromisoformat(data["expiresAt"]) == START + timedelta(minutes=2)
    claims = claims_of(data["token"])
    assert claims.keys() == (CLAIMS - {"tenant_id"}) | {"scope"}
    assert (claims["scope"], claims["permissions"]) == ("tenant-selector-only", [])


async def test_no_tenant_gives_a_global_token_with_nothing_to_select(town: Town) -> None:
    await leave(town, "member", "acme")
    data = await log_in(town, "member")
    assert data.keys() == LOGIN
    assert (data["isGlobal"], data["requiresTenantSelection"], data["currentTenant"]) == (True, False, None)


async def test_a_preferred_tenant_gives_its_token(town: Town) -> None:
    await join(town, "member", "other")
    data = await log_in(town, "member", preferredTenantId=town.tenants["other"])
    assert (data["tokenType"], data["smartAutoSwitched"]) == ("Tenant", False)
    assert data["currentTenant"]["id"] == town.tenants["other"]


async def test_a_preferred_tenant_that_is_no_active_membership_is_forbidden(town: Town) -> None:
    await town.call("root", "PUT", f"/api/tenants/{town.tenants['acme']}", {"isActive": False})
    for tenant_id in (town.tenants["other"], town.tenants["acme"], SYSTEM[:-1] + "9"):
        answer = await try_login(town, "member", preferredTenantId=tenant_id)
        assert (answer.status_code, answer.json()["errorCode"]) == (403, "FORBIDDEN")


async def test_inactive_tenants_do_not_count(town: Town) -> None:
    await join(town, "member", "other")
    await town.call("root", "PUT", f"/api/tenants/{town.tenants['acme']}", {"isActive": False})
    data = await log_in(town, "member")
    assert (data["smartAutoSwitched"], data["currentTenant"]["id"]) == (True, town.tenants["other"])


async def test_switching_answers_a_pair_for_the_tenant(town: Town) -> None:
    """From a Global Token, and from another tenant's."""
    await join(town, "member", "other")
    town.place.tokens["chooser"] = (await log_in(town, "member"))["token"]
    for identifier, is_default in (("acme", True), ("other", False)):
        answer = await town.call("chooser", "POST", "/api/auth/switch-tenant", {"tenantId": town.tenants[identifier]})
        data = answer.json()["data"]
        assert data.keys() == PAIR | {"currentTenant"}
        tenant = {"id": town.tenants[identifier], "name": identifier.title(), "isDefault": is_default}
        assert (data["isGlobal"], data["tokenType"], data["currentTenant"]) == (False, "Tenant", tenant)
        assert claims_of(data["token"])["tenant_id"] == town.tenants[identifier]
        town.place.tokens["chooser"] = data["token"]


async def test_switching_makes_the_refresh_token_from_before_a_spent_one(town: Town) -> None:
    await join(town, "member", "other")
    before = await log_in(town, "member")
    town.place.tokens["chooser"] = before["token"]
    body = {"tenantId": town.tenants["acme"]}
    after = (await town.call("chooser", "POST", "/api/auth/switch-tenant", body)).json()["data"]
    assert after["refreshToken"] != before["refreshToken"]
    move(town, timedelta(seconds=31))
    assert (await refresh(town, before["refreshToken"])).status_code == 401
    assert (await refresh(town, after["refreshToken"])).status_code == 401


@pytest.mark.parametrize("whither", ["stranger's", "closed", "nowhere"])
async def test_nobody_switches_or_refreshes_into_a_tenant_they_are_not_in(town: Town, whither: str) -> None:
    """All alike; and the refresh token is as good as before."""
    await join(town, "member", "other")
    session = await log_in(town, "member", preferredTenantId=town.tenants["acme"])
    town.place.tokens["member"] = session["token"]
    if whither == "stranger's":
        await leave(town, "member", "other")
        session = await log_in(town, "member", preferredTenantId=town.tenants["acme"])
        town.place.tokens["member"] = session["token"]
    if whither == "closed":
        await town.call("root", "PUT", f"/api/tenants/{town.tenants['other']}", {"isActive": False})
    target = SYSTEM[:-1] + "9" if whither == "nowhere" else town.tenants["other"]
    switched = await town.call("member", "POST", "/api/auth/switch-tenant", {"tenantId": target})
    refreshed = await refresh(town, session["refreshToken"], tenantId=target)
    for answer in (switched, refreshed):
        assert (answer.status_code, answer.json()["errorMessage"]) == (403, "You are not a member of this tenant.")
    assert (await refresh(town, session["refreshToken"])).status_code == 200


async def test_refreshing_keeps_the_tenant_unless_another_is_named(town: Town) -> None:
    await join(town, "member", "other")
    session = await log_in(town, "member", preferredTenantId=town.tenants["acme"])
    kept = (await refresh(town, session["refreshToken"])).json()["data"]
    assert kept.keys() == PAIR | {"permissions"}
    assert claims_of(kept["token"])["tenant_id"] == town.tenants["acme"]
    assert kept["refreshToken"] != session["refreshToken"]
    moved = (await refresh(town, kept["refreshToken"], tenantId=town.tenants["other"])).json()["data"]
    assert claims_of(moved["token"])["tenant_id"] == town.tenants["other"]
    again = (await refresh(town, moved["refreshToken"])).json()["data"]
    assert claims_of(again["token"])["tenant_id"] == town.tenants["other"]


async def test_refreshing_a_global_session_keeps_it_global_for_ten_minutes(town: Town) -> None:
    await join(town, "member", "other")
    session = await log_in(town, "member")
    move(town, timedelta(minutes=9))
    kept = (await refresh(town, session["refreshToken"])).json()["data"]
    assert (kept["isGlobal"], kept["tokenType"], kept["permissions"]) == (True, "Global", [])
    move(town, timedelta(minutes=1))
    late = await refresh(town, kept["refreshToken"])
    assert (late.status_code, late.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


async def test_a_super_admin_goes_to_any_active_tenant(town: Town) -> None:
    acme = town.tenants["acme"]
    assert (await log_in(town, ADMIN, preferredTenantId=acme))["currentTenant"]["id"] == acme
    answer = await town.call("root", "POST", "/api/auth/switch-tenant", {"tenantId": acme})
    claims = claims_of(answer.json()["data"]["token"])
    assert (claims["super_admin"], claims["tenant_id"], claims["permissions"]) == (True, acme, ["*"])
    await town.call("root", "PUT", f"/api/tenants/{acme}", {"isActive": False})
    assert (await try_login(town, ADMIN, preferredTenantId=acme)).status_code == 403


# Sessions.


async def test_the_last_spent_refresh_token_gets_the_same_successor_within_the_grace(town: Town) -> None:
    session = await log_in(town, "member")
    first = (await refresh(town, session["refreshToken"])).json()["data"]
    move(town, timedelta(seconds=29))
    again = (await refresh(town, session["refreshToken"])).json()["data"]
    assert again["refreshToken"] == first["refreshToken"]
    move(town, timedelta(seconds=1))
    stolen = await refresh(town, session["refreshToken"])
    assert (stolen.status_code, stolen.json()["errorCode"]) == (401, "TOKEN_INVALID")
    town.place.tokens["member"] = first["token"]
    dead = await town.call("member", "GET", "/api/auth/me")
    assert (dead.status_code, dead.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert (await refresh(town, first["refreshToken"])).status_code == 401


async def test_a_session_ends_when_it_is_not_used_and_when_it_is_old(town: Town) -> None:
    unused, used = await log_in(town, "member"), await log_in(town, "clerk")
    for _ in range(4):
        move(town, timedelta(days=6, hours=1))
        used = (await refresh(town, used["refreshToken"])).json()["data"]
    move(town, timedelta(days=6, hours=1))
    for session in (used, unused):
        answer = await refresh(town, session["refreshToken"])
        assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


async def test_an_access_token_ends_with_its_time(town: Town) -> None:
    move(town, timedelta(minutes=60, seconds=6))
    answer = await town.call("clerk", "GET", "/api/auth/me")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    assert "WWW-Authenticate" in answer.headers


async def test_a_logout_ends_every_session_and_token_of_the_user(town: Town) -> None:
    sessions = [await log_in(town, "member") for _ in range(2)]
    town.place.tokens["member"] = sessions[0]["token"]
    answer = await town.call("member", "POST", "/api/auth/logout")
    assert answer.status_code == 200
    assert answer.json().keys() == {"isSuccess", "message"}
    for session in sessions:
        town.place.tokens["member"] = session["token"]
        assert (await town.call("member", "GET", "/api/auth/me")).json()["errorCode"] == "TOKEN_INVALID"
        assert (await refresh(town, session["refreshToken"])).status_code == 401
    await log_in(town, "member")


async def test_a_disabled_account_is_told_and_its_tokens_are_dead(town: Town) -> None:
    session = await log_in(town, "member")
    await town.call("admin", "PUT", f"/api/users/{town.users['member']}", {"isActive": False})
    town.place.tokens["member"] = session["token"]
    assert (await town.call("member", "GET", "/api/auth/me")).json()["errorCode"] == "TOKEN_INVALID"
    answer = await try_login(town, "member")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "ACCOUNT_DISABLED")


async def test_a_lock_is_shown_and_lifted(town: Town) -> None:
    wrong = {"email": email_of("member"), "password": "wrong", "isPasswordEncrypted": False}
    for _ in range(5):
        await town.place.call("POST", "/api/auth/login", json=wrong)
    answer = await try_login(town, "member")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "ACCOUNT_LOCKED")
    path = f"/api/users/{town.users['member']}"
    shown = (await town.call("admin", "GET", path)).json()["data"]
    until = START + timedelta(minutes=15)
    assert (shown["isLocked"], datetime.fromisoformat(shown["lockedUntil"])) == (True, until)
    lifted = (await town.call("admin", "POST", f"{path}/unlock")).json()["data"]
    assert (lifted["isLocked"], lifted["lockedUntil"]) == (False, None)
    await log_in(town, "member")


async def test_a_login_is_told_about_its_password_and_those_before_it(town: Town) -> None:
    await town.make_user("new", "acme", [])
    first, second = await log_in(town, "new"), await log_in(town, "new")
    assert (first["isFirstLogin"], second["isFirstLogin"]) == (True, False)
    assert first["mustChangePassword"] is True  # an administrator set it
    assert first["daysUntilPasswordExpiration"] is None


async def test_passwords_age_where_they_are_told_to() -> None:
    place = await open_place({"TENANTRY_PASSWORD_MAX_AGE_DAYS": "30"})
    clock = place.world.clock
    assert isinstance(clock, MovableClock)
    seen: list[tuple[Any, Any]] = []
    for days in (0, 29, 1):
        clock.move(timedelta(days=days))
        data = await place.login("root", ADMIN)
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


async def test_me_is_what_the_token_says(town: Town) -> None:
    data = (await town.call("clerk", "GET", "/api/auth/me")).json()["data"]
    assert data.keys() == {"id", "name", "email", "roles", "permissions"}
    assert (data["id"], data["email"], data["roles"]) == (town.users["clerk"], email_of("clerk"), ["Clerk"])


async def test_me_needs_no_database(town: Town) -> None:
    await town.call("clerk", "GET", "/api/auth/me")
    town.place.world.database.down = True  # type: ignore[attr-defined]
    assert (await town.call("clerk", "GET", "/api/auth/me")).status_code == 200


async def test_the_profile_is_the_database_s_and_remembered_for_half_an_hour(town: Town) -> None:
    paths = ("/api/auth/me?include=profile", "/api/auth/me/complete")
    first, second = [(await town.call("clerk", "GET", path)).json()["data"] for path in paths]
    assert first == second
    assert first.keys() == {
        "id", "email", "fullName", "phoneNumber", "profilePictureUrl", "emailConfirmed", "roles", "permissions",
        "tenants", "createdAt", "lastLoginAt",
    }  # fmt: skip
    assert first["tenants"] == [{"id": town.tenants["acme"], "name": "Acme", "isDefault": True}]
    await town.call("admin", "PUT", f"/api/users/{town.users['clerk']}", {"fullName": "Renamed"})
    assert (await town.call("clerk", "GET", paths[0])).json()["data"]["fullName"] == "Renamed"


async def test_the_profile_shows_what_became_of_a_tenant_at_once(town: Town) -> None:
    await join(town, "member", "other")
    path = f"/api/tenants/{town.tenants['other']}"

    async def seen() -> list[str]:
        names = []
        for name in ("member", "clerk"):
            answer = await town.call(name, "GET", "/api/auth/me/complete")
            names.append(",".join(one["name"] for one in answer.json()["data"]["tenants"]))
        return names

    await town.place.login("member", email_of("member"), town.tenants["acme"])
    move(town, TOMBSTONE)
    assert await seen() == ["Acme,Other", "Acme"]
    await town.call("root", "PUT", path, {"name": "Otherwise"})
    assert await seen() == ["Acme,Otherwise", "Acme"]
    await town.call("root", "PUT", f"/api/tenants/{town.tenants['acme']}", {"name": "Ac"})
    assert await seen() == ["Ac,Otherwise", "Ac"]
    await town.call("root", "PUT", path, {"isActive": False})
    assert await seen() == ["Ac,Otherwise", "Ac"]
    await town.call("root", "DELETE", path)
    assert await seen() == ["Ac", "Ac"]


async def test_the_profile_is_kept_while_no_tenant_changes(town: Town) -> None:
    await town.call("root", "PUT", f"/api/tenants/{town.tenants['other']}", {"name": "Otherwise"})
    move(town, TOMBSTONE)
    first = await town.call("clerk", "GET", "/api/auth/me/complete")
    async with town.place.world.database.transaction(EveryTenant()) as tx:
        standing = await tx.users.standing(UUID(town.users["clerk"]))
        assert standing is not None
        await tx.users.save(replace(standing.user, full_name="Unseen"), standing.user)
    assert (await town.call("clerk", "GET", "/api/auth/me/complete")).json() == first.json()


async def test_users_are_listed_bare_and_read_whole(town: Town) -> None:
    listed = (await town.call("admin", "GET", "/api/users?search=CLERK&role=Clerk&isActive=true")).json()
    assert listed.keys() == PAGE
    (clerk,) = listed["items"]
    assert clerk.keys() == USER
    assert (clerk["id"], clerk["roles"], listed["totalCount"]) == (town.users["clerk"], ["Clerk"], 1)
    read = (await town.call("admin", "GET", f"/api/users/{clerk['id']}")).json()
    assert read.keys() == {"isSuccess", "data"}
    assert read["data"].keys() == DETAIL


async def test_the_list_of_users_is_ordered_and_clamped(town: Town) -> None:
    asked = "/api/users?sortBy=email&sortDirection=asc&pageSize=500"
    listed = (await town.call("admin", "GET", asked)).json()
    emails = [one["email"] for one in listed["items"]]
    assert emails == sorted(emails)
    assert (listed["pageSize"], listed["page"], listed["totalPages"]) == (100, 1, 1)
    second = (await town.call("admin", "GET", "/api/users?pageSize=2&page=2")).json()
    assert (len(second["items"]), second["totalCount"], second["totalPages"]) == (1, 3, 2)


async def test_a_user_is_made_changed_and_deleted(town: Town) -> None:
    body = {"email": "new@acme.example", "password": PASSWORD, "fullName": "New", "roles": ["Reader"]}
    made = await town.call("admin", "POST", "/api/users", body)
    data = made.json()["data"]
    assert (made.status_code, made.headers["Location"]) == (201, f"/api/users/{data['id']}")
    assert (data.keys(), data["roles"], data["emailConfirmed"]) == (DETAIL, ["Reader"], True)
    path, change = f"/api/users/{data['id']}", {"phoneNumber": "+49 30 1", "roles": [], "email": "other@acme.example"}
    changed = (await town.call("admin", "PUT", path, change)).json()["data"]
    assert (changed["phoneNumber"], changed["roles"], changed["fullName"]) == ("+49 30 1", [], "New")
    assert (changed["email"], changed["emailConfirmed"]) == ("other@acme.example", False)
    given = await town.call("admin", "POST", f"{path}/roles", {"roleNames": ["Reader"]})
    assert (given.status_code, given.json()["data"]["roles"]) == (200, ["Reader"])
    gone = await town.call("admin", "DELETE", path)
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})
    assert (await town.call("admin", "GET", path)).status_code == 404


async def test_unknown_role_names_are_told_on_their_field(town: Town) -> None:
    for method, path, body, field in (
        ("POST", f"/api/users/{town.users['member']}/roles", {"roleNames": ["X"]}, "roleNames"),
        ("PUT", f"/api/users/{town.users['member']}", {"roles": ["X"]}, "roles"),
    ):
        answer = await town.call("admin", method, path, body)
        assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (400, [field])


async def test_from_system_users_and_roles_are_as_such(town: Town) -> None:
    """A user made there has no membership, and the roles are held everywhere."""
    new = {"email": "as@such.example", "password": PASSWORD, "fullName": "As Such", "roles": ["Admin"]}
    made = (await town.call("root", "POST", "/api/users", new)).json()["data"]
    assert (made["roles"], made["tenants"]) == (["Admin"], [])
    town.users["such"] = made["id"]
    await join(town, "such", "acme")
    data = await log_in(town, "as@such.example")
    assert (data["currentTenant"]["id"], data["permissions"]) == (town.tenants["acme"], ["*"])
    assert (await town.call("root", "GET", "/api/users?pageSize=100")).json()["totalCount"] == 6


async def test_roles_are_listed_with_their_holders(town: Town) -> None:
    listed = (await town.call("admin", "GET", "/api/roles")).json()
    assert listed.keys() == {"items"}
    roles = {one["name"]: one for one in listed["items"]}
    assert roles.keys() == {"Admin", "Clerk", "Member", "Reader", "SuperAdmin"}
    assert roles["Clerk"].keys() == {"id", "name", "description", "permissions", "isSystem", "userCount"}
    assert (roles["Clerk"]["userCount"], roles["Clerk"]["isSystem"], roles["Admin"]["isSystem"]) == (1, False, True)
    assert roles["Admin"]["permissions"] == ["*"]


async def test_a_role_is_made_changed_and_deleted(town: Town) -> None:
    body = {"name": "New", "description": "for a test", "permissions": ["read:users", "read:*"]}
    made = await town.call("admin", "POST", "/api/roles", body)
    data = made.json()["data"]
    assert (made.status_code, made.headers["Location"]) == (201, f"/api/roles/{data['id']}")
    assert data["permissions"] == ["read:*"]
    changed = await town.call("admin", "PUT", f"/api/roles/{data['id']}", {**body, "permissions": []})
    assert (changed.status_code, changed.json()["data"]["permissions"]) == (200, [])
    gone = await town.call("admin", "DELETE", f"/api/roles/{data['id']}")
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})


async def test_permissions_are_listed_and_made(town: Town) -> None:
    body = {"name": "paint:walls", "description": "with a brush", "category": "painting"}
    made = await town.call("root", "POST", "/api/permissions", body)
    assert (made.status_code, made.json()["data"].keys()) == (201, {"id", "name", "description", "category"})
    listed = (await town.call("admin", "GET", "/api/permissions")).json()
    assert listed.keys() == {"items"}
    names = [one["name"] for one in listed["items"]]
    assert names == sorted(names)
    assert {"paint:walls", "read:users", "create:products", "delete:reviews"} <= set(names)
    assert (await town.call("root", "POST", "/api/permissions", body)).status_code == 409


async def test_a_tenant_is_made_read_changed_and_deleted(town: Town) -> None:
    settings = {"timezone": "Europe/Berlin", "language": "de-DE", "features": ["exports"]}
    made = await town.call(
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
    assert (await town.call("root", "GET", path)).json()["data"] == data
    changed = (await town.call("root", "PUT", path, {"isActive": False, "name": "Newer"})).json()["data"]
    assert (changed["isActive"], changed["name"], changed["domain"]) == (False, "Newer", "new.example")
    gone = await town.call("root", "DELETE", path)
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})
    assert (await town.call("root", "GET", path)).status_code == 404


async def test_tenants_are_listed_in_the_envelope(town: Town) -> None:
    listed = (await town.call("root", "GET", "/api/tenants?sortBy=identifier&sortDirection=asc&search=a")).json()
    assert listed.keys() == {"isSuccess", "data"}
    assert listed["data"].keys() == PAGE
    assert listed["data"]["items"][0].keys() == TENANT
    assert [one["identifier"] for one in listed["data"]["items"]] == ["acme"]


async def test_settings_have_their_defaults(town: Town) -> None:
    current = (await town.call("admin", "GET", "/api/tenants/current")).json()["data"]
    assert (current.keys(), current["id"]) == (TENANT, town.tenants["acme"])
    assert current["settings"] == {
        "timezone": "UTC", "language": "en-US", "currency": "USD", "enabledFeatures": [], "customSettings": {},
    }  # fmt: skip


async def test_the_tenant_system_stays(town: Town) -> None:
    for method, body in (("DELETE", None), ("PUT", {"isActive": False}), ("PUT", {"identifier": "other-name"})):
        answer = await town.call("root", method, f"/api/tenants/{SYSTEM}", body)
        assert (answer.status_code, answer.json()["errorCode"]) == (409, "CONFLICT")


async def test_a_membership_is_made_replaced_listed_and_ended(town: Town) -> None:
    path = f"/api/tenants/{town.tenants['other']}/users"
    body = {"userId": town.users["member"], "roles": ["Member"]}
    made = await town.call("root", "POST", path, body)
    assert (made.status_code, made.json()["data"].keys()) == (201, MEMBERSHIP)
    assert (made.json()["data"]["roles"], made.json()["data"]["isDefault"]) == (["Member"], False)
    replaced = await town.call("root", "POST", path, {**body, "roles": [], "isDefault": True})
    assert (replaced.status_code, replaced.json()["data"]["roles"]) == (200, [])
    assert replaced.json()["data"]["isDefault"] is True
    listed = (await town.call("root", "GET", path)).json()
    assert (listed.keys(), listed["data"].keys()) == ({"isSuccess", "data"}, PAGE)
    assert town.users["member"] in [one["id"] for one in listed["data"]["items"]]
    ended = await town.call("root", "DELETE", f"{path}/{town.users['member']}")
    assert (ended.status_code, ended.json().keys()) == (200, {"isSuccess", "message"})
    assert (await log_in(town, "member"))["currentTenant"]["isDefault"] is True


async def test_a_closed_tenant_takes_nobody_and_its_tokens_are_stale(town: Town) -> None:
    session = await log_in(town, "member")
    town.place.tokens["member"] = session["token"]
    await town.call("root", "PUT", f"/api/tenants/{town.tenants['acme']}", {"isActive": False})
    dead = await town.call("member", "GET", "/api/auth/me")
    assert (dead.status_code, dead.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    assert (await refresh(town, session["refreshToken"])).status_code == 403
    await town.call("root", "PUT", f"/api/tenants/{town.tenants['acme']}", {"isActive": True})
    assert (await refresh(town, session["refreshToken"])).status_code == 200


async def test_a_token_of_one_kind_is_none_of_another(town: Town) -> None:
    session = await log_in(town, "member")
    town.place.tokens["wrong"] = session["refreshToken"]
    answer = await town.call("wrong", "GET", "/api/auth/me")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert (await refresh(town, session["token"])).json()["errorCode"] == "TOKEN_INVALID"


async def test_administration_is_in_the_audit_trail(town: Town) -> None:
    path = f"/api/users/{town.users['member']}"
    await town.call("admin", "PUT", path, {"fullName": "Renamed"})
    await town.call("admin", "POST", f"{path}/roles", {"roleNames": ["Reader"]})
    await town.call("admin", "PUT", f"/api/roles/{town.roles['Reader']}", {"name": "Reader", "permissions": []})
    await town.call("admin", "DELETE", path)
    trail = (await town.call("admin", "GET", "/api/audit-events?pageSize=100")).json()["data"]["items"]
    mine = {one["action"]: one for one in trail if one["actorId"] == town.users["admin"]}
    assert {"user.changed", "user.roles-changed", "role.changed", "user.deleted", "login.succeeded"} <= mine.keys()
    changed = mine["user.changed"]
    assert (changed["targetId"], changed["tenantId"]) == (town.users["member"], town.tenants["acme"])
    assert {"address", "requestId", "occurredAt"} <= changed.keys()
    elsewhere = (await town.call("stranger", "GET", "/api/audit-events?pageSize=100")).json()["data"]["items"]
    assert not {one["id"] for one in elsewhere} & {one["id"] for one in trail}
