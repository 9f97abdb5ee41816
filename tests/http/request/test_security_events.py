"""Refusals in the access log: who tried to pass which control, and nothing of what they sent.

Refusals of administration: counted by their status, and lines of the audit trail, a few of many.

Requests that pass their limits and are answered 429 all the same: they count for nothing.

Work of a request is done for the tenant of its caller, for a caller without one, or for a stranger.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from litestar import Response, get

from adapters.http.app import HttpSettings
from adapters.http.request.responses import bare
from adapters.http.request.rules import ANY_TOKEN, ORDINARY, PUBLIC, Policy, rules
from adapters.memory.clock import MovableClock
from adapters.memory.identity.passwords import MemoryPasswords
from application.ports.access_log import AccessLine
from application.ports.database import ASKED_BY
from domain.entities.catalogue import ENTITIES
from domain.errors import TooBusy
from domain.limits import Hit, Limit
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import prepare_memory
from tests.builders import new_id
from tests.http.app import ADMIN, PASSWORD, SETTINGS, TestApp, client_of, open_test_app, registry_of
from tests.http.conftest import seed

SENT = "a-value-that-somebody-sent"
WRONG_LOGIN = {"email": "reader@acme.example", "password": SENT, "isPasswordEncrypted": False}
PRODUCT = {"name": "Kettle", "sku": "KET-1", "price": 1}
JSON = {"Content-Type": "application/json"}

Try = tuple[str, str, dict[str, Any]]

TRIES: dict[str, tuple[Try, str]] = {
    "a field that nobody may send": (
        ("POST", "/api/products", {"json": {**PRODUCT, "nonsense": SENT}, "as_whom": "acme"}),
        "VALIDATION_ERROR",
    ),
    "a name that stands twice": (
        ("POST", "/api/products", {"content": b'{"name": "a", "name": "b"}', "headers": JSON, "as_whom": "acme"}),
        "BAD_REQUEST",
    ),
    "a body of another type": (
        ("POST", "/api/products", {"content": SENT.encode(), "headers": {"Content-Type": "text/x"}, "as_whom": "acme"}),
        "UNSUPPORTED_MEDIA_TYPE",
    ),
    "a body that is too large": (
        ("POST", "/api/auth/login", {"content": b'"' + b"a" * 20_000 + b'"', "headers": JSON}),
        "PAYLOAD_TOO_LARGE",
    ),
    "an unknown parameter": (("GET", f"/api/products?{SENT}=1", {"as_whom": "acme"}), "VALIDATION_ERROR"),
    "a rule of the business": (
        ("POST", "/api/products", {"json": {**PRODUCT, "status": "live"}, "as_whom": "acme"}),
        "UNPROCESSABLE_ENTITY",
    ),
    "a permission that is missing": (
        ("POST", "/api/products", {"json": PRODUCT, "as_whom": "reader"}),
        "FORBIDDEN",
    ),
    "another tenant": (
        ("GET", "/api/products", {"headers": {"X-Tenant-Scope": "all"}, "as_whom": "acme"}),
        "FORBIDDEN",
    ),
    "a row of nobody": (("GET", f"/api/products/{new_id()}", {"as_whom": "acme"}), "NOT_FOUND"),
    "a forged token": (("GET", "/api/products", {"headers": {"Authorization": f"Bearer {SENT}"}}), "TOKEN_INVALID"),
    "no token": (("GET", "/api/products", {}), "UNAUTHORIZED"),
    "a wrong password": (("POST", "/api/auth/login", {"json": WRONG_LOGIN}), "INVALID_CREDENTIALS"),
    "a method that is none": (("PATCH", "/api/auth/login", {}), "METHOD_NOT_ALLOWED"),
    "a path that is none": (("GET", "/api/nothing", {}), "NOT_FOUND"),
}
"""A request that is refused by each control, and the code in its line."""


async def logged() -> tuple[TestApp, list[AccessLine]]:
    lines: list[AccessLine] = []
    app = await open_test_app(log=lines.append)
    await seed(app)
    lines.clear()
    return app, lines


@pytest.mark.parametrize("name", TRIES)
async def test_what_a_control_refuses_is_in_the_log_with_its_code(name: str) -> None:
    app, lines = await logged()
    (method, path, more), code = TRIES[name]
    await app.call(method, path, **more)
    (line,) = lines
    assert line.refusal == code
    assert (line.request_id, line.address) != ("", "")
    assert (line.user_id is not None) is ("as_whom" in more)
    assert SENT not in repr(line)


async def test_a_reached_limit_is_logged_as_a_refusal_and_success_is_not() -> None:
    app, lines = await logged()
    body = {"email": "reader@acme.example", "password": PASSWORD, "isPasswordEncrypted": False}
    while (await app.call("POST", "/api/auth/login", json=body)).status_code == 200:
        pass
    *let_in, last = [line.refusal for line in lines]
    assert let_in
    assert set(let_in) == {None}
    assert last == "RATE_LIMITED"


async def trail(app: TestApp, whom: str = "acme") -> list[tuple[str, str]]:
    answer = await app.call("GET", "/api/audit-events?pageSize=100&sort=occurredAt", as_whom=whom)
    events = answer.json()["data"]["items"]
    return [(event["action"], event["actorId"]) for event in events if event["action"].endswith(("refused", "limited"))]


@pytest.mark.promise(
    "security, audit trail: Refused administration stands in the audit trail, once a minute for each caller and "
    "operation; 403 and 429 are counted"
)
async def test_a_refused_administration_is_audited_once_a_minute(app: TestApp) -> None:
    reader = (await app.call("GET", "/api/auth/me", as_whom="reader")).json()["data"]["id"]
    for _ in range(3):
        refused = await app.call("PUT", f"/api/users/{reader}", as_whom="reader", json={"fullName": "Mine"})
        assert refused.status_code == 403
    # by the permission, and by what only the use case knows
    assert (await app.call("GET", "/api/tenants", as_whom="reader")).status_code == 403
    assert await trail(app) == [("users.update.refused", reader), ("tenants.page.refused", reader)]
    assert isinstance(app.adapters.clock, MovableClock)
    app.adapters.clock.move(timedelta(minutes=1))
    await app.call("PUT", f"/api/users/{reader}", as_whom="reader", json={"fullName": "Mine"})
    assert len(await trail(app)) == 3
    assert await trail(app, "other") == []


@pytest.mark.promise(
    "security, audit trail: Refused administration stands in the audit trail, once a minute for each caller and "
    "operation; 403 and 429 are counted"
)
async def test_a_rate_limited_request_is_audited_and_counted(app: TestApp) -> None:
    admin = (await app.call("GET", "/api/auth/me", as_whom="acme")).json()["data"]["id"]
    # the counters of a process are those of all applications in it
    before = [await counted(app, "roles.all", 429), await counted(app, "tenants.page", 403)]
    answers = [await app.call("GET", "/api/roles", as_whom="acme") for _ in range(103)]
    assert [answer.status_code for answer in answers] == [200] * 100 + [429] * 3
    assert await trail(app) == [("roles.all.limited", admin)]
    await app.call("GET", "/api/tenants", as_whom="reader")
    after = [await counted(app, "roles.all", 429), await counted(app, "tenants.page", 403)]
    assert [late - early for early, late in zip(before, after, strict=True)] == [3, 1]


async def counted(app: TestApp, endpoint: str, status: int) -> float:
    name = f'tenantry_answers_total{{endpoint="{endpoint}",status="{status}"}} '
    lines = (await app.client.get("/metrics")).text.splitlines()
    return next((float(line.removeprefix(name)) for line in lines if line.startswith(name)), 0.0)


async def test_refusals_of_rows_and_of_strangers_are_not_in_the_trail(app: TestApp) -> None:
    assert (await app.call("DELETE", "/api/products/x", as_whom="reader")).status_code == 403
    assert (await app.call("GET", "/api/users")).status_code == 401
    assert await trail(app) == []


async def test_who_waits_for_a_place_is_not_held_by_the_limit() -> None:
    app = await open_test_app()
    await app.login("root", ADMIN)
    await app.make_tenant("acme")

    async def ask(method: str, path: str) -> httpx.Response:
        files = {"file": ("a.csv", "name\r\n")} if method == "POST" else None
        return await app.call(method, path, as_whom="root in acme", files=files)

    slots = app.services.exporting.slots
    slots.total = 0
    for method, path in (("GET", "/api/products/export"), ("POST", "/api/products/import")):
        refused = [await ask(method, path) for _ in range(7)]
        assert {(answer.status_code, answer.headers["Retry-After"]) for answer in refused} == {(429, "10")}
        assert {answer.headers["X-RateLimit-Remaining"] for answer in refused} == {"4"}
    slots.total = 8
    answers = [await ask("GET", "/api/products/export") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert int(answers[-1].headers["Retry-After"]) > 10


async def test_a_request_over_a_counting_limit_has_no_hit_to_refund() -> None:
    app, hits = await open_test_app({"TENANTRY_RATE_LIMITS": "count"}), [Hit(Limit("x", 2), "somebody")]
    admitted = [await app.services.throttle.admit(hits, None, []) for _ in range(3)]
    assert [(each.refusal, each.counted) for each in admitted] == [
        (None, hits),
        (None, hits),
        (None, ()),
    ]


class QueuedPasswords(MemoryPasswords):
    """Refuses to verify while its queue is full."""

    is_full = False

    async def verify(self, password: str, stored: str | None) -> bool:
        if self.is_full:
            raise TooBusy
        return await super().verify(password, stored)


async def test_a_login_with_an_unverified_password_is_not_counted_as_an_attempt() -> None:
    settings, passwords = read_settings(SETTINGS), QueuedPasswords()
    adapters = replace(memory_adapters(settings, registry_of(ENTITIES)), passwords=passwords)
    services = assemble(adapters, settings)
    await prepare_memory(services)
    app = TestApp(client_of(services, HttpSettings()), services, adapters)
    body = {"email": ADMIN, "password": PASSWORD, "isPasswordEncrypted": False}

    async def log_in(times: int) -> list[int]:
        return [(await app.call("POST", "/api/auth/login", json=body)).status_code for _ in range(times)]

    passwords.is_full = True
    assert await log_in(12) == [429] * 12
    passwords.is_full = False
    assert await log_in(11) == [200] * 10 + [429]


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
