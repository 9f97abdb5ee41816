"""Rules that ask for people and for a recent proof, and the way to show one."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio
from litestar import Response, get
from msgspec.structs import replace

from adapters.http.app import HttpSettings
from adapters.http.request.responses import bare
from adapters.http.request.rules import Policy, rules
from domain.limits import Limit
from domain.scope import EveryTenant
from entrypoints.assembly.http_settings import http_settings
from entrypoints.settings.settings import read_settings
from tests.http.app import ADMIN, PASSWORD, SETTINGS, Json, TestApp, client_of, open_test_app
from tests.http.conftest import seed
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.service_accounts.service_accounts import code_of
from tests.http.served import Served, served_by

PLACE = "01900000-0000-7000-8000-000000000000"
CHALLENGE = 'Bearer error="insufficient_user_authentication", max_age="600"'


def own_route(name: str, policy: Policy) -> Any:
    @get(f"/own/{name}", name=f"own.{name}", opt=rules(policy=policy, limit=Limit(f"own.{name}", 100), area="A"))
    async def shown() -> Response[Any]:
        return bare(name)

    return shown


OWN = HttpSettings(
    routes=(
        own_route("recent", Policy("any", recent=True)),
        own_route("people", Policy("any", people=True)),
        own_route("both", Policy("tenant", "read:users", recent=True, people=True)),
        own_route("neither", Policy("any")),
    )
)
"""Rules of a project's own, without which the generated tests could find no endpoint of their kind."""


@pytest_asyncio.fixture
async def guarded() -> AsyncIterator[TestApp]:
    opened = await open_test_app()
    await seed(opened)
    async with opened.services.database.transaction(EveryTenant()) as tx:
        # Some of what is for people asks for a proved address.
        state = await tx.users.state_by_email(ADMIN)
        assert state is not None
        await tx.credentials.confirm_email(state.user.id, ADMIN, opened.services.clock.now())
    opened.client = client_of(opened.services, OWN)
    yield opened
    await opened.client.aclose()


def move(app: TestApp, by: timedelta) -> None:
    app.clock.move(by)


def sign(app: TestApp, name: str, whom: str = "root", **changes: Any) -> str:
    """The token of ``whom``, changed as said, signed anew and kept under ``name``."""
    now = app.adapters.clock.now()
    claims = app.services.tokens.read(app.tokens[whom], now)
    app.tokens[name] = app.services.tokens.sign(replace(claims, **changes), now)
    return name


async def ask(app: TestApp, endpoint: Served, whom: str) -> httpx.Response:
    path = "/".join(PLACE if part.startswith("{") else part for part in endpoint.path.split("/"))
    return await app.call(endpoint.method, path, as_whom=whom, json={} if endpoint.has_body else None)


@pytest.mark.promise("second factors, behaviour: a recent proof, and people alone")
async def test_what_is_for_people_refuses_service_accounts(guarded: TestApp) -> None:
    service, person = sign(guarded, "service", kind="service"), sign(guarded, "person")
    # These end the person's token: test_ownership.py, test_self_service.py and test_api_keys.py ask them.
    ends_tokens = ("tenants.leave", "auth.delete-me", "auth.logout")
    served = [endpoint for endpoint in served_by(guarded.services, OWN) if endpoint.operation not in ends_tokens]
    # Routes of the console refuse whoever is no page of its own: tests/http/console asks them.
    asked = [endpoint for endpoint in served if endpoint.policy.people and not endpoint.path.startswith("/console/")]
    named = {"own.people", "own.both", "auth.reauthenticate", "tenants.set-owner", "applications.create"}
    assert named <= {endpoint.operation for endpoint in asked}
    for endpoint in asked:
        refused = await ask(guarded, endpoint, service)
        assert (refused.status_code, code_of(refused)) == (403, "FORBIDDEN"), endpoint.path
        assert (await ask(guarded, endpoint, person)).status_code != 403, endpoint.path
    for path in ("/own/neither", "/own/recent", "/api/auth/me"):
        assert (await guarded.call("GET", path, as_whom=service)).status_code == 200


@pytest.mark.promise("identity, errors: REAUTHENTICATION_REQUIRED 401, with the greatest age")
@pytest.mark.promise("second factors, behaviour: a recent proof, and people alone")
async def test_endpoints_with_a_recent_proof_refuse_an_older_proof_and_name_the_error(guarded: TestApp) -> None:
    now = int(guarded.adapters.clock.now().timestamp())
    old, recent = sign(guarded, "old", auth_time=now - 601), sign(guarded, "recent", auth_time=now - 600)
    unknown = sign(guarded, "unknown", auth_time=0, amr=())
    asked = [endpoint for endpoint in served_by(guarded.services, OWN) if endpoint.policy.recent]
    assert {"own.recent", "own.both", "tenants.set-owner"} <= {endpoint.operation for endpoint in asked}
    for endpoint in asked:
        for whom in (old, unknown):
            refused = await ask(guarded, endpoint, whom)
            body = refused.json()
            code = body["error"]["code"] if endpoint.area == "B" else body["errorCode"]
            assert (refused.status_code, code) == (401, "REAUTHENTICATION_REQUIRED"), endpoint
            assert refused.headers["WWW-Authenticate"] == CHALLENGE
        assert (await ask(guarded, endpoint, recent)).status_code != 401, endpoint.path
    for path in ("/own/neither", "/own/people", "/api/auth/me"):
        assert (await guarded.call("GET", path, as_whom=unknown)).status_code == 200


async def test_a_missing_permission_is_reported_before_an_old_proof(guarded: TestApp) -> None:
    await guarded.make_user("acme", "plain@acme.example", [])
    await guarded.login("plain", "plain@acme.example")
    for whom in (sign(guarded, "old", "plain", auth_time=0), sign(guarded, "service", kind="service", auth_time=0)):
        assert (await guarded.call("GET", "/own/both", as_whom=whom)).status_code == 403


async def test_administrators_need_a_recent_proof_to_change_their_own_address(guarded: TestApp) -> None:
    ada, bob = [await guarded.make_user("acme", f"{name}@acme.example", ["Admin"]) for name in ("ada", "bob")]
    await guarded.login("ada", "ada@acme.example")
    old = sign(guarded, "old", "ada", auth_time=0)
    for address in ("thief@acme.example", "ADA@acme.example"):
        refused = await guarded.call("PUT", f"/api/users/{ada}", as_whom=old, json={"email": address, "fullName": "A"})
        assert (refused.status_code, refused.json()["errorCode"]) == (401, "REAUTHENTICATION_REQUIRED")
        assert refused.headers["WWW-Authenticate"] == CHALLENGE
    same = {"email": " ada@acme.example", "fullName": "Ada"}
    for user_id, body in ((ada, same), (bob, {"email": "robert@acme.example"})):
        assert (await guarded.call("PUT", f"/api/users/{user_id}", as_whom=old, json=body)).status_code == 200
    other = {"email": "ada@new.example"}
    assert (await guarded.call("PUT", f"/api/users/{ada}", as_whom="ada", json=other)).status_code == 200


def test_the_greatest_age_is_a_setting() -> None:
    settings = read_settings({**SETTINGS, "TENANTRY_REAUTH_MINUTES": "3"})
    assert http_settings(settings).recent == timedelta(minutes=3)


async def show(app: TestApp, whom: str, **body: object) -> httpx.Response:
    return await app.call("POST", "/api/auth/reauthenticate", as_whom=whom, json=body)


async def shown(app: TestApp, whom: str) -> Json:
    answer = await show(app, whom, password=PASSWORD)
    assert answer.status_code == 200, answer.text
    data: Json = answer.json()["data"]
    app.tokens[whom] = data["token"]
    return data


def proof_in(token: str) -> tuple[object, object]:
    claims = claims_of(token)
    return claims.get("amr"), claims.get("auth_time")


async def test_a_login_records_method_and_time_and_refresh_and_switch_preserve_them(guarded: TestApp) -> None:
    data = await guarded.login("root", ADMIN)
    at = int(guarded.adapters.clock.now().timestamp())
    assert proof_in(data["token"]) == (["pwd"], at)
    assert "kind" not in claims_of(data["token"])
    move(guarded, timedelta(minutes=5))
    refreshed = await guarded.call("POST", "/api/auth/refresh", json={"refreshToken": data["refreshToken"]})
    assert proof_in(refreshed.json()["data"]["token"]) == (["pwd"], at)
    acme = claims_of(guarded.tokens["acme"])["tenant_id"]
    switched = await guarded.call("POST", "/api/auth/switch-tenant", as_whom="root", json={"tenantId": acme})
    assert proof_in(switched.json()["data"]["token"]) == (["pwd"], at)


@pytest.mark.promise("POST /api/auth/reauthenticate")
async def test_a_password_shown_again_is_a_recent_proof_of_the_same_session(guarded: TestApp) -> None:
    data = await guarded.login("acme", "admin@acme.example")
    move(guarded, timedelta(minutes=11))
    assert (await guarded.call("GET", "/own/both", as_whom="acme")).status_code == 401
    renewed = await shown(guarded, "acme")
    assert (await guarded.call("GET", "/own/both", as_whom="acme")).status_code == 200
    before, after = claims_of(data["token"]), claims_of(renewed["token"])
    assert (after["sid"], after["tenant_id"], after["amr"]) == (before["sid"], before["tenant_id"], ["pwd"])
    assert after["auth_time"] == int(guarded.adapters.clock.now().timestamp())
    refreshed = await guarded.call("POST", "/api/auth/refresh", json={"refreshToken": renewed["refreshToken"]})
    assert proof_in(refreshed.json()["data"]["token"]) == (["pwd"], after["auth_time"])
    move(guarded, timedelta(minutes=1))
    stolen = await guarded.call("POST", "/api/auth/refresh", json={"refreshToken": data["refreshToken"]})
    assert (stolen.status_code, stolen.json()["errorCode"]) == (401, "TOKEN_INVALID")


async def test_a_global_token_is_renewed_as_one(guarded: TestApp) -> None:
    user_id = await guarded.make_user("acme", "both@acme.example", [])
    other = claims_of(guarded.tokens["other"])["tenant_id"]
    body = {"userId": user_id, "roles": []}
    await guarded.call("POST", f"/api/tenants/{other}/users", as_whom="root", json=body)
    await guarded.login("both", "both@acme.example")
    renewed = await shown(guarded, "both")
    assert renewed["isGlobal"] is True


@pytest.mark.promise("POST /api/auth/reauthenticate")
async def test_wrong_passwords_are_reported_counted_and_locked(guarded: TestApp) -> None:
    answers = [await show(guarded, "acme", password="a wrong guess") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [400] * 5 + [423]
    assert [field["field"] for field in answers[0].json()["errors"]] == ["password"]
    assert (await show(guarded, "acme", password=PASSWORD)).status_code == 423
    move(guarded, timedelta(minutes=15))
    assert (await show(guarded, "acme", password=PASSWORD)).status_code == 200


async def test_a_right_password_forgives_the_wrong_ones(guarded: TestApp) -> None:
    for _ in range(3):
        for _ in range(4):
            assert (await show(guarded, "acme", password="a wrong guess")).status_code == 400
        await shown(guarded, "acme")


@pytest.mark.parametrize("body", [{}, {"password": 1}, {"password": PASSWORD, "userId": PLACE}])
async def test_a_body_of_another_form_is_refused(guarded: TestApp, body: Json) -> None:
    assert (await show(guarded, "acme", **body)).status_code == 400


async def test_an_ended_session_is_not_renewed(guarded: TestApp) -> None:
    sid = claims_of(guarded.tokens["acme"])["sid"]
    await guarded.call("DELETE", f"/api/auth/sessions/{sid}", as_whom="acme")
    assert (await show(guarded, "acme", password=PASSWORD)).status_code == 401


async def test_every_proof_is_in_the_audit_trail(guarded: TestApp) -> None:
    await show(guarded, "acme", password="a wrong guess")
    await shown(guarded, "acme")
    await guarded.login("root", ADMIN)
    events = await guarded.call(
        "GET", "/api/audit-events?pageSize=100", as_whom="root", headers={"X-Tenant-Scope": "all"}
    )
    actions = [event["action"] for event in events.json()["data"]["items"]]
    assert {"reauthenticated", "reauthentication.refused"} <= set(actions)
    of_tenant = claims_of(guarded.tokens["acme"])["tenant_id"]
    mine = [event["action"] for event in events.json()["data"]["items"] if event["tenantId"] == of_tenant]
    assert "reauthenticated" in mine


async def test_right_passwords_that_are_refused_for_another_reason_lock_nothing(guarded: TestApp) -> None:
    application = {"appId": "shop", "name": "Shop"}
    made = await guarded.call("POST", "/api/applications", as_whom="root", json=application)
    assert made.status_code == 201, made.text
    body = {"email": "reader@acme.example", "password": PASSWORD, "isPasswordEncrypted": False}
    answer = await guarded.call("POST", "/api/auth/login", json={**body, "requestedAppId": "shop"})
    guarded.tokens["in the shop"] = answer.json()["data"]["token"]
    await guarded.call("PUT", made.headers["location"], as_whom="root", json={**application, "isActive": False})
    refused = [await show(guarded, "in the shop", password=PASSWORD) for _ in range(6)]
    assert {answer.status_code for answer in refused} == {403}
    assert (await guarded.call("POST", "/api/auth/login", json=body)).status_code == 200
