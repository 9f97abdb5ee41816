"""Sessions on the wire: their ends, and the end of the tokens that belong to them.

/api/auth/me on the wire: the claims of the token, and the profile from the database.
"""

from datetime import timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from application.ports.shared_memory import PROFILES_KEPT, TOMBSTONE, profile_key
from domain.identity.tokens import SESSIONS_AT_MOST
from domain.scope import EveryTenant
from tests.http.identity.factors.steps import claims_of, join, log_in, move, refresh, try_login
from tests.http.two_tenants import TwoTenants, email_of


@pytest.mark.promise(
    "identity, refresh tokens and sessions: Within the grace the same successor, later the session ends"
)
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


async def test_a_successor_that_is_answered_again_is_of_the_tenant_that_is_asked_for(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    acme, other = tenants.tenants["acme"], tenants.tenants["other"]
    session = await log_in(tenants, "member", preferredTenantId=acme)
    first = (await refresh(tenants, session["refreshToken"], tenantId=acme)).json()["data"]
    moved = (await refresh(tenants, session["refreshToken"], tenantId=other)).json()["data"]
    assert (claims_of(first["token"])["tenant_id"], claims_of(moved["token"])["tenant_id"]) == (acme, other)
    assert moved["refreshToken"] == first["refreshToken"]
    latest = (await refresh(tenants, first["refreshToken"])).json()["data"]
    assert claims_of(latest["token"])["tenant_id"] == other


async def test_a_tenant_that_is_refused_with_a_spent_refresh_token_leaves_its_successor_usable(
    tenants: TwoTenants,
) -> None:
    session = await log_in(tenants, "member")
    successor = (await refresh(tenants, session["refreshToken"])).json()["data"]["refreshToken"]
    refused = await refresh(tenants, session["refreshToken"], tenantId=tenants.tenants["other"])
    assert (refused.status_code, refused.json()["errorCode"]) == (403, "FORBIDDEN")
    assert (await refresh(tenants, successor)).status_code == 200


async def test_a_spent_refresh_token_asks_for_a_tenant_within_the_same_grace(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    acme, other = tenants.tenants["acme"], tenants.tenants["other"]
    session = await log_in(tenants, "member", preferredTenantId=acme)
    await refresh(tenants, session["refreshToken"])
    move(tenants, timedelta(seconds=29))
    assert (await refresh(tenants, session["refreshToken"], tenantId=other)).status_code == 200
    move(tenants, timedelta(seconds=1))
    assert (await refresh(tenants, session["refreshToken"], tenantId=other)).json()["errorCode"] == "TOKEN_INVALID"


@pytest.mark.promise(
    "identity, refresh tokens and sessions: Unused for 7 days, 30 days at most, 10 minutes without a tenant"
)
async def test_a_session_ends_when_it_is_not_used_and_when_it_is_old(tenants: TwoTenants) -> None:
    unused, used = await log_in(tenants, "member"), await log_in(tenants, "clerk")
    for _ in range(4):
        move(tenants, timedelta(days=6, hours=1))
        used = (await refresh(tenants, used["refreshToken"])).json()["data"]
    move(tenants, timedelta(days=6, hours=1))
    for session in (used, unused):
        answer = await refresh(tenants, session["refreshToken"])
        assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


@pytest.mark.promise("identity, account states: tenant Token: 60 minutes")
@pytest.mark.promise("identity, errors: TOKEN_EXPIRED 401")
async def test_an_access_token_ends_with_its_time(tenants: TwoTenants) -> None:
    move(tenants, timedelta(minutes=60, seconds=6))
    answer = await tenants.call("clerk", "GET", "/api/auth/me")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    assert "WWW-Authenticate" in answer.headers


@pytest.mark.promise("POST /api/auth/logout")
@pytest.mark.promise("identity, account states: Logout: all tokens of the user are dead")
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
    lines = (await tenants.call("admin", "GET", "/api/audit-events?action=logout")).json()["data"]["items"]
    assert [line["actorId"] for line in lines] == [tenants.users["member"]]


async def test_a_session_that_one_ends_is_in_the_audit_trail(tenants: TwoTenants) -> None:
    session = await log_in(tenants, "member")
    tenants.app.tokens["member"], sid = session["token"], claims_of(session["token"])["sid"]
    assert (await tenants.call("member", "DELETE", f"/api/auth/sessions/{sid}")).status_code == 200
    lines = (await tenants.call("admin", "GET", "/api/audit-events?action=session.ended")).json()["data"]["items"]
    assert [(line["actorId"], line["targetId"]) for line in lines] == [(tenants.users["member"], sid)]


@pytest.mark.promise("identity, errors: ACCOUNT_DISABLED 401")
async def test_a_disabled_account_is_reported_and_its_tokens_are_invalid(tenants: TwoTenants) -> None:
    session = await log_in(tenants, "member")
    await tenants.call("admin", "PUT", f"/api/users/{tenants.users['member']}", {"isActive": False})
    tenants.app.tokens["member"] = session["token"]
    assert (await tenants.call("member", "GET", "/api/auth/me")).json()["errorCode"] == "TOKEN_INVALID"
    answer = await try_login(tenants, "member")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "ACCOUNT_DISABLED")


@pytest.mark.promise("identity, revocation: a closed tenant: TOKEN_EXPIRED, refresh 403")
async def test_an_inactive_tenant_refuses_refreshes_and_expires_its_tokens(tenants: TwoTenants) -> None:
    session = await log_in(tenants, "member")
    tenants.app.tokens["member"] = session["token"]
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['acme']}", {"isActive": False})
    dead = await tenants.call("member", "GET", "/api/auth/me")
    assert (dead.status_code, dead.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    assert (await refresh(tenants, session["refreshToken"])).status_code == 403
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['acme']}", {"isActive": True})
    assert (await refresh(tenants, session["refreshToken"])).status_code == 200


async def test_the_tokens_of_a_tenant_that_is_deleted_are_stale_at_once(tenants: TwoTenants) -> None:
    session = await log_in(tenants, "member")
    tenants.app.tokens["member"] = session["token"]
    # asked before, so that the process knows the versions of the token
    assert (await tenants.call("member", "GET", "/api/auth/me")).status_code == 200
    gone = await tenants.call("root", "DELETE", f"/api/tenants/{tenants.tenants['acme']}")
    assert gone.status_code == 200
    dead = await tenants.call("member", "GET", "/api/auth/me")
    assert (dead.status_code, dead.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    assert (await refresh(tenants, session["refreshToken"])).status_code in (401, 403)


@pytest.mark.promise("identity, errors: TOKEN_INVALID 401")
@pytest.mark.promise("identity, tokens and keys: no token of one kind passes as another")
async def test_a_token_of_one_kind_is_none_of_another(tenants: TwoTenants) -> None:
    session = await log_in(tenants, "member")
    tenants.app.tokens["wrong"] = session["refreshToken"]
    answer = await tenants.call("wrong", "GET", "/api/auth/me")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert (await refresh(tenants, session["token"])).json()["errorCode"] == "TOKEN_INVALID"


@pytest.mark.promise(
    "security, rights: a user has at most 100 sessions: one more ends the one that was unused for longest, with its "
    "access token"
)
async def test_the_session_that_makes_place_for_another_loses_its_access_token_too(tenants: TwoTenants) -> None:
    first = await log_in(tenants, "member")
    move(tenants, timedelta(seconds=1))
    kept = [await log_in(tenants, "member") for _ in range(SESSIONS_AT_MOST - 1)][-1]
    tenants.app.tokens["member"] = first["token"]
    assert (await tenants.call("member", "GET", "/api/auth/me")).status_code == 200
    last = await log_in(tenants, "member")
    tenants.app.tokens["member"] = first["token"]
    assert (await tenants.call("member", "GET", "/api/auth/me")).json()["errorCode"] == "TOKEN_INVALID"
    for living in (kept, last):
        tenants.app.tokens["member"] = living["token"]
        assert (await tenants.call("member", "GET", "/api/auth/me")).status_code == 200


@pytest.mark.promise("GET /api/auth/me")
@pytest.mark.promise("identity, fields: Current user, basic: from the claims, without the database")
async def test_me_returns_the_claims_of_the_token(tenants: TwoTenants) -> None:
    data = (await tenants.call("clerk", "GET", "/api/auth/me")).json()["data"]
    assert data.keys() == {"id", "name", "email", "roles", "permissions"}
    assert (data["id"], data["email"], data["roles"]) == (tenants.users["clerk"], email_of("clerk"), ["Clerk"])


@pytest.mark.promise("identity, fields: Current user, basic: from the claims, without the database")
async def test_me_needs_no_database(tenants: TwoTenants) -> None:
    await tenants.call("clerk", "GET", "/api/auth/me")
    tenants.app.database.down = True
    assert (await tenants.call("clerk", "GET", "/api/auth/me")).status_code == 200


@pytest.mark.promise("GET /api/auth/me")
@pytest.mark.promise("GET /api/auth/me/complete")
@pytest.mark.promise(
    "identity, fields: Current user, profile: from the database, cached for 30 minutes, dropped by every change"
)
async def test_the_profile_is_the_database_s_and_remembered_for_half_an_hour(tenants: TwoTenants) -> None:
    paths = ("/api/auth/me?include=profile", "/api/auth/me/complete")
    first, second = [(await tenants.call("clerk", "GET", path)).json()["data"] for path in paths]
    assert first == second
    assert first.keys() == {
        "id", "email", "fullName", "phoneNumber", "profilePictureUrl", "emailConfirmed", "emailProved", "roles",
        "permissions", "tenants", "identities", "createdAt", "lastLoginAt",
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
            names.append(",".join(tenant["name"] for tenant in answer.json()["data"]["tenants"]))
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


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", "/api/users/{member}", None),
        ("DELETE", "/api/tenants/{acme}/users/{member}", None),
        ("POST", "/api/users/{member}/roles", {"roleNames": ["Reader"]}),
        ("PUT", "/api/users/{member}", {"fullName": "Renamed"}),
    ],
)
async def test_the_cached_profile_of_a_removed_or_changed_user_is_dropped(
    tenants: TwoTenants, method: str, path: str, body: object
) -> None:
    key = profile_key(UUID(tenants.users["member"]))
    move(tenants, TOMBSTONE)
    assert (await tenants.call("member", "GET", "/api/auth/me/complete")).status_code == 200
    assert await tenants.app.adapters.cache.get(key) is not None
    path = path.format(**tenants.users, **tenants.tenants)
    assert (await tenants.call("admin", method, path, body)).status_code == 200
    assert await tenants.app.adapters.cache.get(key) is None


async def test_the_profile_is_cached_while_no_tenant_changes(tenants: TwoTenants) -> None:
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['other']}", {"name": "Otherwise"})
    move(tenants, TOMBSTONE)
    first = await tenants.call("clerk", "GET", "/api/auth/me/complete")
    async with tenants.app.adapters.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state(UUID(tenants.users["clerk"]))
        assert state is not None
        await tx.users.save(replace(state.user, full_name="Unseen"), state.user)
    assert (await tenants.call("clerk", "GET", "/api/auth/me/complete")).json() == first.json()


async def test_a_profile_cached_by_another_version_is_read_again(tenants: TwoTenants) -> None:
    key = profile_key(UUID(tenants.users["clerk"]))
    move(tenants, TOMBSTONE)
    first = await tenants.call("clerk", "GET", "/api/auth/me/complete")
    stored = await tenants.app.adapters.cache.get(key)
    assert stored is not None
    other = stored.replace(b'"emailProved":false,', b"")
    assert other != stored
    await tenants.app.adapters.cache.put(key, other, PROFILES_KEPT)
    assert (await tenants.call("clerk", "GET", "/api/auth/me/complete")).json() == first.json()
    assert await tenants.app.adapters.cache.get(key) == stored


@pytest.mark.promise("PUT /api/auth/me")
async def test_everybody_changes_their_own_name_and_nothing_more(tenants: TwoTenants) -> None:
    path = "/api/auth/me"
    await tenants.call("member", "GET", f"{path}/complete")
    change = {"fullName": "Ada Byron", "phoneNumber": "+49 30 1", "profilePictureUrl": "https://example.com/a.png"}
    answer = await tenants.call("member", "PUT", path, change)
    assert answer.status_code == 200
    for told in (answer.json()["data"], (await tenants.call("member", "GET", f"{path}/complete")).json()["data"]):
        assert {name: told[name] for name in change} == change
    cleared = (await tenants.call("member", "PUT", path, {"phoneNumber": None})).json()["data"]
    assert (cleared["phoneNumber"], cleared["fullName"]) == (None, "Ada Byron")
    trail = (await tenants.call("admin", "GET", "/api/audit-events?action=user.changed")).json()["data"]["items"]
    me = tenants.users["member"]
    assert [(line["actorId"], line["targetId"]) for line in trail] == [(me, me)] * 2
    await tenants.call("member", "PUT", path, {"fullName": "Ada Byron"})
    assert (await tenants.call("admin", "GET", "/api/audit-events?action=user.changed")).json()["data"][
        "totalCount"
    ] == 2, "a change of nothing is none"


async def test_a_wrong_profile_is_reported_field_by_field(tenants: TwoTenants) -> None:
    wrong = {"fullName": "", "phoneNumber": "1" * 1_000, "profilePictureUrl": "javascript:alert(1)"}
    answer = await tenants.call("member", "PUT", "/api/auth/me", wrong)
    assert (answer.status_code, sorted(error["field"] for error in answer.json()["errors"])) == (400, sorted(wrong))
    for field, value in (("email", "other@acme.example"), ("roles", ["Admin"]), ("isActive", False)):
        answer = await tenants.call("member", "PUT", "/api/auth/me", {field: value})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)
    assert (await tenants.app.call("PUT", "/api/auth/me", json={"fullName": "X"})).status_code == 401
