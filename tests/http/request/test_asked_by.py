"""Work of a request is done for the tenant of its caller, for a caller without one, or for a stranger."""

from typing import Any

from litestar import Response, get

from adapters.http.app import HttpSettings
from adapters.http.request.responses import bare
from adapters.http.request.rules import ANY_TOKEN, ORDINARY, PUBLIC, Policy, rules
from application.ports.database import ASKED_BY
from tests.http.app import TestApp, client_of


def own_route(path: str, policy: Policy) -> Any:
    @get(path, name=path, opt=rules(policy=policy, limit=ORDINARY, area="A"))
    async def asked_by() -> Response[str]:
        return bare(str(ASKED_BY.get()))

    return asked_by


OWN = HttpSettings(routes=(own_route("/own/public", PUBLIC), own_route("/own/token", ANY_TOKEN)))


async def test_work_is_done_for_the_tenant_of_the_caller_or_for_a_caller_without_one(app: TestApp) -> None:
    app.client = client_of(app.services, OWN)
    login = await app.login("admin@acme", "admin@acme.example")
    acme = login["currentTenant"]["id"]
    user_id = (await app.call("GET", "/api/auth/me", as_whom="admin@acme")).json()["data"]["id"]
    other = (await app.call("GET", "/api/tenants/current", as_whom="root in other")).json()["data"]["id"]
    body = {"userId": user_id, "roles": ["Admin"]}
    assert (await app.call("POST", f"/api/tenants/{other}/users", as_whom="root", json=body)).is_success
    assert (await app.login("choosing", "admin@acme.example"))["isGlobal"]
    await app.login("admin@acme", "admin@acme.example", acme)

    async def asked_by(path: str, whom: str | None) -> object:
        return (await app.call("GET", path, as_whom=whom)).json()

    assert await asked_by("/own/token", "admin@acme") == acme
    assert await asked_by("/own/public", None) == "None"
    assert await asked_by("/own/token", "choosing") == user_id
