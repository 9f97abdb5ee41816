"""Sessions of members: listed and ended by administrators, in their tenant alone."""

from datetime import timedelta

import httpx
import pytest

from domain.errors import NotFound
from tests.http.app import PASSWORD, TestApp
from tests.http.identity.steps import join, log_in, move, refresh
from tests.http.two_tenants import TwoTenants

UNKNOWN = "00000000-0000-7000-8000-00000000beef"


async def reader_of(app: TestApp) -> str:
    return str((await app.call("GET", "/api/auth/me", as_whom="reader")).json()["data"]["id"])


async def sessions(app: TestApp, user_id: str, whom: str = "acme") -> list[dict[str, object]]:
    answer = await app.call("GET", f"/api/users/{user_id}/sessions", as_whom=whom)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, object]] = answer.json()["data"]["items"]
    return items


async def code(app: TestApp, whom: str) -> tuple[int, str | None]:
    answer = await app.call("GET", "/api/auth/me", as_whom=whom)
    return answer.status_code, answer.json().get("errorCode")


async def targets(app: TestApp, action: str, whom: str = "acme") -> list[str]:
    trail = (await app.call("GET", f"/api/audit-events?action={action}", as_whom=whom)).json()
    return [line["targetId"] for line in trail["data"]["items"]]


@pytest.mark.promise("GET /api/users/{user_id}/sessions")
@pytest.mark.promise("DELETE /api/users/{user_id}/sessions")
@pytest.mark.promise("DELETE /api/users/{user_id}/sessions/{session_id}")
@pytest.mark.promise(
    "security, rights: Administrators list and end a member's sessions in their tenant, and none of one who may do more"
)
async def test_an_admin_lists_and_ends_a_member_s_sessions(app: TestApp) -> None:
    user_id = await reader_of(app)
    await app.login("second", "reader@acme.example")
    await app.login("third", "reader@acme.example")
    listed = await sessions(app, user_id)
    assert len(listed) == 3
    assert {session["isCurrent"] for session in listed} == {False}
    path = f"/api/users/{user_id}/sessions"
    ended = await app.call("DELETE", f"{path}/{listed[0]['id']}", as_whom="acme")
    assert (ended.status_code, ended.json()["isSuccess"]) == (200, True)
    assert await code(app, "third") == (401, "TOKEN_INVALID")
    assert await code(app, "second") == (200, None)
    assert (await app.call("DELETE", path, as_whom="acme")).status_code == 200
    assert await code(app, "second") == (401, "TOKEN_INVALID")
    assert await code(app, "reader") == (401, "TOKEN_INVALID")
    assert await sessions(app, user_id) == []
    assert (await app.call("DELETE", path, as_whom="acme")).status_code == 200
    assert await targets(app, "session.ended") == [listed[0]["id"]]
    assert await targets(app, "user.sessions-ended") == [user_id, user_id]


@pytest.mark.promise("GET /api/users/{user_id}/sessions")
@pytest.mark.promise("DELETE /api/users/{user_id}/sessions/{session_id}")
@pytest.mark.promise(
    "security, rights: Administrators list and end a member's sessions in their tenant, and none of one who may do more"
)
async def test_sessions_in_other_tenants_are_not_seen(app: TestApp) -> None:
    user_id = await reader_of(app)
    others = (await app.call("GET", "/api/auth/me", as_whom="root in other")).status_code
    assert others == 200
    tenants = (await app.call("GET", "/api/tenants?search=other", as_whom="root")).json()["data"]["items"]
    member = {"userId": user_id, "roles": ["Member"]}
    made = await app.call("POST", f"/api/tenants/{tenants[0]['id']}/users", as_whom="root", json=member)
    assert made.status_code == 201, made.text
    elsewhere = await app.login("reader there", "reader@acme.example", tenants[0]["id"])
    there = await sessions(app, user_id, "other")
    assert len(there) == 1
    # the membership made the earlier token stale, and its session stays
    assert len(await sessions(app, user_id)) == 1
    path = f"/api/users/{user_id}/sessions/{there[0]['id']}"
    assert not_found(await app.call("DELETE", path, as_whom="acme"))
    assert (await app.call("DELETE", f"/api/users/{user_id}/sessions", as_whom="acme")).status_code == 200
    # its access token may have been one for this tenant a moment ago: the session goes on with another
    assert await code(app, "reader there") == (401, "TOKEN_EXPIRED")
    renewed = await app.call("POST", "/api/auth/refresh", json={"refreshToken": elsewhere["refreshToken"]})
    assert renewed.status_code == 200, renewed.text
    assert len(await sessions(app, user_id, "root")) == 1


async def test_a_session_that_has_moved_on_does_not_come_back_unproved(tenants: TwoTenants) -> None:
    """The thief of a session steps aside into another tenant while an administrator ends the sessions of this one."""
    app, (acme, other) = tenants.app, (tenants.tenants[name] for name in ("acme", "other"))
    await join(tenants, "member", "other")
    user_id = tenants.users["member"]
    here = await log_in(tenants, "member", preferredTenantId=acme)
    moved = (await refresh(tenants, here["refreshToken"], tenantId=other)).json()["data"]
    app.tokens["kept"], app.tokens["moved"] = here["token"], moved["token"]
    assert await code(app, "kept") == (200, None)
    move(tenants, timedelta(seconds=1))
    assert (await tenants.call("admin", "DELETE", f"/api/users/{user_id}/sessions")).status_code == 200
    assert await code(app, "kept") == (401, "TOKEN_EXPIRED")
    # no access token is left that a proof could be shown with, and so the session stays where it is
    back = await refresh(tenants, moved["refreshToken"], tenantId=acme)
    assert (back.status_code, back.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    there = (await refresh(tenants, moved["refreshToken"])).json()["data"]
    app.tokens["moved"] = there["token"]
    switched = await app.call("POST", "/api/auth/switch-tenant", as_whom="moved", json={"tenantId": acme})
    assert (switched.status_code, switched.json()["errorCode"]) == (401, "REAUTHENTICATION_REQUIRED")
    body = {"password": PASSWORD, "isPasswordEncrypted": False}
    proved = await app.call("POST", "/api/auth/reauthenticate", as_whom="moved", json=body)
    assert proved.status_code == 200, proved.text
    app.tokens["moved"] = proved.json()["data"]["token"]
    entered = await app.call("POST", "/api/auth/switch-tenant", as_whom="moved", json={"tenantId": acme})
    assert entered.status_code == 200, entered.text
    assert (await log_in(tenants, "member", preferredTenantId=acme))["currentTenant"]["id"] == acme


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_users_elsewhere_and_unknown_ones_are_alike(app: TestApp, method: str) -> None:
    foreign = await app.call(method, f"/api/users/{await reader_of(app)}/sessions", as_whom="other")
    unknown = await app.call(method, f"/api/users/{UNKNOWN}/sessions", as_whom="other")
    assert not_found(foreign)
    assert (foreign.status_code, foreign.json()) == (unknown.status_code, unknown.json())


@pytest.mark.promise("DELETE /api/users/{user_id}/sessions")
@pytest.mark.promise(
    "security, rights: Administrators list and end a member's sessions in their tenant, and none of one who may do more"
)
async def test_nobody_ends_the_sessions_of_one_who_may_do_more(app: TestApp) -> None:
    await app.make_role("acme", "Clerk", ["read:users", "update:users"])
    await app.make_user("acme", "clerk@acme.example", ["Clerk"])
    await app.login("clerk", "clerk@acme.example")
    admin = str((await app.call("GET", "/api/auth/me", as_whom="acme")).json()["data"]["id"])
    assert len(await sessions(app, admin, "clerk")) == 1
    assert (await app.call("DELETE", f"/api/users/{admin}/sessions", as_whom="clerk")).status_code == 403
    assert await code(app, "acme") == (200, None)
    # who only reads ends nothing
    assert (await app.call("DELETE", f"/api/users/{admin}/sessions", as_whom="reader")).status_code == 403


def not_found(answer: httpx.Response) -> bool:
    return (answer.status_code, answer.json()["errorCode"]) == (404, NotFound.code)
