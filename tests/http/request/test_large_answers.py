"""Large answers: sent at the client's pace, and refused where too much waits for a tenant to read it."""

import asyncio
from typing import Any, cast
from uuid import UUID

import pytest
from litestar import get, post

from adapters.http.app import HttpSettings
from adapters.http.request.outgoing import LARGE_OF_A_TENANT, PIECE, LargeAnswers
from adapters.http.request.responses import Json
from adapters.http.request.rules import ORDINARY, PUBLIC, TENANT_TOKEN, Policy, rules
from domain.errors import RateLimited
from tests.builders import new_id
from tests.http.app import TestApp, client_of
from tests.http.built_once import asgi_of
from tests.waiting import HUNG_AFTER

HALF = bytes(LARGE_OF_A_TENANT // 2 + 1)
"""Two of these are more than a tenant may have; memory that nobody has written costs nothing."""


def own_route(method: Any, path: str, policy: Policy, body: bytes) -> Any:
    async def answered() -> Json:
        return Json(body)

    name, opt = f"{method.__name__} {path}", rules(policy=policy, limit=ORDINARY)
    return method(path, name=name, opt=opt, status_code=200)(answered)


OWN = HttpSettings(
    routes=(
        own_route(get, "/own/half", TENANT_TOKEN, HALF),
        own_route(post, "/own/half", TENANT_TOKEN, HALF),
        own_route(get, "/own/short", TENANT_TOKEN, b"x" * PIECE),
        own_route(get, "/own/public", PUBLIC, HALF),
    )
)


class SlowClient:
    """A client that takes the first piece of its answer, and the others once it is told to."""

    def __init__(self, app: TestApp, whom: str | None, method: str = "GET", path: str = "/own/half") -> None:
        self.sent, self.begun, self.may_go_on = list[Any](), asyncio.Event(), asyncio.Event()
        headers = [] if whom is None else [(b"authorization", b"Bearer " + app.tokens[whom].encode())]
        scope: Any = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "headers": headers,
        }
        asgi: Any = asgi_of(app.services, OWN)
        self.task: asyncio.Task[None] = asyncio.create_task(asgi(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        return await asyncio.Future()

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.sent.append(message)
            return
        self.sent.append(len(message["body"]))
        self.begun.set()
        await self.may_go_on.wait()

    @property
    def status(self) -> int:
        return cast(int, self.sent[0]["status"])

    async def read(self) -> None:
        self.may_go_on.set()
        await self.task


async def begun(*clients: SlowClient) -> list[int]:
    async with asyncio.timeout(HUNG_AFTER):
        for client in clients:
            await client.begun.wait()
    return [client.status for client in clients]


async def test_a_read_is_refused_while_too_much_waits_for_the_tenant(app: TestApp) -> None:
    app.client = client_of(app.services, OWN)
    first = SlowClient(app, "acme")
    assert await begun(first) == [200]
    refused = await app.call("GET", "/own/half", as_whom="reader")
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "5"
    assert refused.json()["error"]["message"].startswith("Answers of 128 MiB wait for your tenant to read them")
    assert (await app.call("GET", "/own/short", as_whom="acme")).status_code == 200
    assert (await app.call("HEAD", "/own/half", as_whom="acme")).status_code == 200
    # neither what was written, nor another tenant, nor strangers
    others = SlowClient(app, "acme", "POST"), SlowClient(app, "other"), SlowClient(app, None, path="/own/public")
    assert await begun(*others) == [200, 200, 200]
    for client in (first, *others):
        await client.read()
        assert sum(client.sent[1:]) == len(HALF)
    again = SlowClient(app, "acme")
    assert await begun(again) == [200]
    await again.read()


async def test_a_client_that_leaves_makes_room(app: TestApp) -> None:
    for _ in range(3):
        client = SlowClient(app, "acme")
        assert await begun(client) == [200]
        client.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await client.task


def test_a_tenant_has_one_large_answer_where_all_have_their_most() -> None:
    large, tenants = LargeAnswers(of_a_tenant=10, of_all=20), [new_id() for _ in range(3)]

    def is_taken(tenant: UUID, size: int) -> bool:
        try:
            large.take(tenant, size, may_refuse=True)
        except RateLimited:
            return False
        return True

    assert [is_taken(tenants[0], 5) for _ in range(3)] == [True, True, False]
    assert is_taken(tenants[1], 9)
    assert [is_taken(tenants[2], 3) for _ in range(2)] == [True, False]
    for tenant, size in ((tenants[0], 5), (tenants[0], 5), (tenants[1], 9), (tenants[2], 3)):
        large.give_back(tenant, size)
    assert large.total == 0
    assert is_taken(tenants[2], 11)
