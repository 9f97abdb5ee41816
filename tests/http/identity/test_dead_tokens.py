"""Tokens that were revoked or became stale, at every endpoint that takes one, with limits counted."""

from typing import Any

import pytest
from litestar import Response, post
from litestar.params import JSONBody

from adapters.http.app import HttpSettings
from adapters.http.identity.self_service.own_account import CHANGE_EMAIL
from adapters.http.request.responses import bare
from adapters.http.request.rules import ANY_TOKEN, rules
from application.identity.account.accounts import EmailForm
from domain.limits import Limit
from domain.scope import EveryTenant, user_subject
from tests.http.app import ADMIN, TestApp, client_of, open_test_app
from tests.http.identity.service_accounts import code_of
from tests.http.served import served_by

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
async def test_no_endpoint_takes_a_revoked_token_whoever_the_body_names() -> None:
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
