"""/api/auth on the wire: login by the state of the account, switch-tenant and refresh.

Tokens that were revoked or became stale, at every endpoint that takes one, with limits counted.
"""

from datetime import datetime, timedelta
from typing import Any

import pytest
from litestar import Response, post
from litestar.params import JSONBody

from adapters.http.app import HttpSettings
from adapters.http.identity.self_service.own_account import CHANGE_EMAIL
from adapters.http.request.responses import bare
from adapters.http.request.rules import ANY_TOKEN, rules
from adapters.memory.clock import START, MovableClock
from application.identity.account.accounts import EmailForm
from domain.limits import Limit
from domain.scope import EveryTenant, user_subject
from tests.http.app import ADMIN, TestApp, client_of, open_test_app
from tests.http.identity.factors.steps import SYSTEM, claims_of, join, leave, log_in, move, refresh, try_login
from tests.http.identity.service_accounts.service_accounts import code_of
from tests.http.served import served_by
from tests.http.two_tenants import TwoTenants

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
    "email", "rev", "ver", "amr", "auth_time",
}  # fmt: skip


@pytest.mark.promise("POST /api/auth/login")
@pytest.mark.promise("identity, fields: login result, every field")
@pytest.mark.promise("identity, account states: one tenant: its token, smartAutoSwitched")
@pytest.mark.promise("identity, account states: tenant Token: 60 minutes")
@pytest.mark.promise("identity, tokens and keys: EdDSA, at+jwt, kid, every claim by name")
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


@pytest.mark.promise("identity, fields: login result, every field")
@pytest.mark.promise("identity, account states: several tenants, none preferred: Global Token")
@pytest.mark.promise(
    "identity, account states: global Token: two minutes, scope tenant-selector-only, opens nothing else"
)
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


@pytest.mark.promise("identity, account states: no tenant: a Global Token with nothing to select")
async def test_no_tenant_gives_a_global_token_with_nothing_to_select(tenants: TwoTenants) -> None:
    await leave(tenants, "member", "acme")
    data = await log_in(tenants, "member")
    assert data.keys() == LOGIN
    assert (data["isGlobal"], data["requiresTenantSelection"], data["currentTenant"]) == (True, False, None)


@pytest.mark.promise("identity, fields: preferredTenantId")
@pytest.mark.promise("identity, account states: a preferred tenant: its token")
async def test_a_preferred_tenant_gives_its_token(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    data = await log_in(tenants, "member", preferredTenantId=tenants.tenants["other"])
    assert (data["tokenType"], data["smartAutoSwitched"]) == ("Tenant", False)
    assert data["currentTenant"]["id"] == tenants.tenants["other"]


@pytest.mark.promise("identity, refresh tokens and sessions: Inactive tenants do not count, and are forbidden")
async def test_a_preferred_tenant_without_an_active_membership_is_forbidden(tenants: TwoTenants) -> None:
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['acme']}", {"isActive": False})
    for tenant_id in (tenants.tenants["other"], tenants.tenants["acme"], SYSTEM[:-1] + "9"):
        answer = await try_login(tenants, "member", preferredTenantId=tenant_id)
        assert (answer.status_code, answer.json()["errorCode"]) == (403, "FORBIDDEN")


@pytest.mark.promise("identity, refresh tokens and sessions: Inactive tenants do not count, and are forbidden")
async def test_inactive_tenants_do_not_count(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    await tenants.call("root", "PUT", f"/api/tenants/{tenants.tenants['acme']}", {"isActive": False})
    data = await log_in(tenants, "member")
    assert (data["smartAutoSwitched"], data["currentTenant"]["id"]) == (True, tenants.tenants["other"])


@pytest.mark.promise("POST /api/auth/switch-tenant")
@pytest.mark.promise("identity, fields: Refresh result, switch-tenant result")
@pytest.mark.promise(
    "identity, account states: global or Tenant Token, switch-tenant: the tenant's token, a new refresh token"
)
async def test_switching_answers_a_pair_for_the_tenant(tenants: TwoTenants) -> None:
    """The token before may be a Global Token or another tenant's."""
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


@pytest.mark.promise(
    "identity, account states: global or Tenant Token, switch-tenant: the tenant's token, a new refresh token"
)
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


@pytest.mark.promise("identity, refresh tokens and sessions: a refused tenantId leaves the token usable")
@pytest.mark.parametrize("whither", ["stranger's", "closed", "nowhere"])
async def test_a_user_cannot_switch_or_refresh_into_a_tenant_without_a_membership(
    tenants: TwoTenants, whither: str
) -> None:
    """The refusals are alike, and the refresh token is as good as before."""
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


@pytest.mark.promise("POST /api/auth/refresh")
@pytest.mark.promise("identity, fields: Refresh result, switch-tenant result")
@pytest.mark.promise("identity, account states: Refresh with tenantId: that tenant's token")
async def test_refreshing_stays_in_the_tenant_unless_another_is_named(tenants: TwoTenants) -> None:
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


@pytest.mark.promise(
    "identity, refresh tokens and sessions: Unused for 7 days, 30 days at most, 10 minutes without a tenant"
)
async def test_refreshing_a_global_session_stays_global_for_ten_minutes(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    session = await log_in(tenants, "member")
    move(tenants, timedelta(minutes=9))
    kept = (await refresh(tenants, session["refreshToken"])).json()["data"]
    assert (kept["isGlobal"], kept["tokenType"], kept["permissions"]) == (True, "Global", [])
    move(tenants, timedelta(minutes=1))
    late = await refresh(tenants, kept["refreshToken"])
    assert (late.status_code, late.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


@pytest.mark.promise("identity, refresh tokens and sessions: a super-admin goes to any active tenant")
async def test_a_super_admin_goes_to_any_active_tenant(tenants: TwoTenants) -> None:
    acme = tenants.tenants["acme"]
    assert (await log_in(tenants, ADMIN, preferredTenantId=acme))["currentTenant"]["id"] == acme
    answer = await tenants.call("root", "POST", "/api/auth/switch-tenant", {"tenantId": acme})
    claims = claims_of(answer.json()["data"]["token"])
    assert (claims["super_admin"], claims["tenant_id"], claims["permissions"]) == (True, acme, ["*"])
    await tenants.call("root", "PUT", f"/api/tenants/{acme}", {"isActive": False})
    assert (await try_login(tenants, ADMIN, preferredTenantId=acme)).status_code == 403


@pytest.mark.promise("identity, fields: isFirstLogin, mustChangePassword, daysUntilPasswordExpiration")
async def test_a_login_reports_the_state_of_its_password_and_earlier_logins(tenants: TwoTenants) -> None:
    await tenants.make_user("new", "acme", [])
    first, second = await log_in(tenants, "new"), await log_in(tenants, "new")
    assert (first["isFirstLogin"], second["isFirstLogin"]) == (True, False)
    assert first["mustChangePassword"] is True  # an administrator set it
    assert first["daysUntilPasswordExpiration"] is None


@pytest.mark.promise("identity, fields: isFirstLogin, mustChangePassword, daysUntilPasswordExpiration")
async def test_a_password_expires_only_when_a_maximum_age_is_set() -> None:
    app = await open_test_app({"TENANTRY_PASSWORD_MAX_AGE_DAYS": "30"})
    clock = app.adapters.clock
    assert isinstance(clock, MovableClock)
    seen: list[tuple[Any, Any]] = []
    for days in (0, 29, 1):
        clock.move(timedelta(days=days))
        data = await app.login("root", ADMIN)
        seen.append((data["daysUntilPasswordExpiration"], data["mustChangePassword"]))
    assert seen == [(30, False), (1, False), (0, True)]


@pytest.mark.parametrize("path", ["/api/auth/login", "/api/auth/social-login", "/api/auth/refresh"])
async def test_an_unknown_query_parameter_is_named(tenants: TwoTenants, path: str) -> None:
    answer = await tenants.app.call("POST", f"{path}?tenant=acme", json={})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "VALIDATION_ERROR")
    assert [error["field"] for error in answer.json()["errors"]] == ["tenant"]


PLACE = "01900000-0000-7000-8000-000000000000"
BODY = {"email": "somebody@example.com"}


def own_route(name: str, **by_email: Any) -> Any:
    opt = rules(policy=ANY_TOKEN, limit=Limit(f"own.{name}", 100), area="A", **by_email)

    @post(f"/own/{name}", name=f"own.{name}", opt=opt, status_code=200)
    async def about(data: JSONBody[EmailForm]) -> Response[Any]:
        return bare(data.email)

    return about


OWN = HttpSettings(routes=(own_route("told", by_email=True), own_route("silent", by_email="silent")))
"""Routes of a project's own that are about an account and take a token: the service has one of these alone."""


async def opened_app() -> TestApp:
    app = await open_test_app()
    app.client = client_of(app.services, OWN)
    await app.login("root", ADMIN)
    await app.make_tenant("acme")
    await app.make_user("acme", "ada@acme.example", ["Admin"])
    await app.login("ada", "ada@acme.example")
    return app


@pytest.mark.promise("security, faults: no endpoint takes a revoked token, whatever the body says")
async def test_no_endpoint_accepts_a_revoked_token_with_any_body() -> None:
    app = await opened_app()
    assert (await app.call("POST", "/own/told", as_whom="ada", json=BODY)).status_code == 200
    assert (await app.call("POST", "/api/auth/logout", as_whom="ada")).status_code == 200
    asked = [served for served in served_by(app.services, OWN) if served.policy.asks is not None]
    about = {served.operation for served in asked if served.rules.by_email}
    assert {"auth.change-email", "own.told", "own.silent"} <= about
    for served in asked:
        path = "/".join(PLACE if part.startswith("{") else part for part in served.path.split("/"))
        body = None if served.method == "GET" else BODY
        refused = await app.call(served.method, path, as_whom="ada", json=body)
        code = "TOKEN_INVALID" if served.area == "A" else "UNAUTHORIZED"
        assert (refused.status_code, code_of(refused)) == (401, code), served.operation
        assert "X-RateLimit-Limit" in refused.headers


async def test_a_stale_token_is_refused_as_elsewhere() -> None:
    app = await opened_app()
    user_id = (await app.call("GET", "/api/auth/me", as_whom="ada")).json()["data"]["id"]
    changed = await app.call("PUT", f"/api/users/{user_id}", as_whom="root in acme", json={"roles": ["Member"]})
    assert changed.status_code == 200, changed.text
    elsewhere = await app.call("GET", "/api/auth/sessions", as_whom="ada")
    for path in ("/api/auth/me/email", "/own/told", "/own/silent"):
        refused = await app.call("POST", path, as_whom="ada", json=BODY)
        assert (refused.status_code, refused.json()["errorCode"]) == (401, elsewhere.json()["errorCode"])


async def test_a_revoked_token_is_counted_for_its_session_and_for_nobodys_address() -> None:
    app = await opened_app()
    await app.login("again", "ada@acme.example")
    async with app.services.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state_by_email("ada@acme.example")
        assert state is not None
        # The database alone knows of it, so that the request was counted before the token proved dead.
        await tx.token_versions.bump([user_subject(state.user.id)])
    answers = [
        await app.call("POST", "/api/auth/me/email", as_whom="ada", json=BODY) for _ in range(CHANGE_EMAIL.count + 1)
    ]
    assert [answer.status_code for answer in answers] == [401] * CHANGE_EMAIL.count + [429]
    # Neither the other session nor another caller of the same address has less left.
    other = await app.call("POST", "/api/auth/me/email", as_whom="again", json=BODY)
    left = answers[0].headers["X-RateLimit-Remaining"]
    assert (other.status_code, other.headers["X-RateLimit-Remaining"]) == (401, left)
    root = await app.call("POST", "/api/auth/me/email", as_whom="root", json=BODY)
    assert (root.status_code, root.headers["X-RateLimit-Remaining"]) == (200, str(CHANGE_EMAIL.count - 1))
