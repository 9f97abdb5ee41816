"""Large answers: sent at the client's pace, and refused where too much waits for a tenant to read it.

Answers that break off after their beginning: the access log and the metrics have them as any other.

The lowest pace of who takes a file, and work that ends with its client.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, cast
from uuid import UUID

import pytest
from litestar import Request, Response, get, post
from litestar.background_tasks import BackgroundTask
from litestar.response import Stream
from litestar.types import HTTPReceiveMessage, Message

from adapters.http.app import HttpSettings
from adapters.http.request.body import ClientGone, while_asked_for
from adapters.http.request.export import Export, Pace, while_connected
from adapters.http.request.outgoing import LARGE_OF_A_TENANT, PIECE, LargeAnswers
from adapters.http.request.responses import Json
from adapters.http.request.rules import ORDINARY, PUBLIC, TENANT_TOKEN, UNLIMITED, Policy, rules
from application.ports.access_log import AccessLine
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
        headers = [(b"host", b"localhost")]
        headers += [] if whom is None else [(b"authorization", b"Bearer " + app.tokens[whom].encode())]
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


async def test_an_answer_that_breaks_off_is_logged(app: TestApp, caplog: pytest.LogCaptureFixture) -> None:
    async def pieces() -> AsyncGenerator[bytes, None]:
        yield b"the beginning"
        raise RuntimeError("the rest is missing")

    @get("/own/broken", opt=rules(policy=PUBLIC, limit=UNLIMITED))
    async def broken() -> Stream:
        return Stream(pieces())

    lines = list[AccessLine]()
    async with client_of(app.services, HttpSettings(log=lines.append, routes=(broken,))) as client:
        with suppress(Exception):  # the connection ends without the rest
            await client.get("/own/broken")
    assert [(line.path, line.status, line.refusal) for line in lines] == [("/own/broken", 200, "INTERNAL_ERROR")]
    assert causes(caplog) == [("request failed after its answer began", "GET /own/broken", "the rest is missing")]


async def test_a_background_task_that_fails_is_logged_with_its_cause(
    app: TestApp, caplog: pytest.LogCaptureFixture
) -> None:
    async def call_a_hook() -> None:
        raise ConnectionRefusedError("nobody listens")

    @get("/own/told", opt=rules(policy=PUBLIC, limit=UNLIMITED))
    async def told() -> Response[str]:
        return Response("done", background=BackgroundTask(call_a_hook))

    async with client_of(app.services, HttpSettings(routes=(told,))) as client:
        with suppress(Exception):
            await client.get("/own/told")
    assert causes(caplog) == [("request failed after its answer began", "GET /own/told", "nobody listens")]


def causes(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str]]:
    """Message, operation and cause of each fault; a stream fails within a group of tasks."""
    told = [(record, record.exc_info[1]) for record in caplog.records if record.exc_info]
    return [
        (
            record.getMessage(),
            str(vars(record)["operation"]),
            str(error.exceptions[0] if isinstance(error, ExceptionGroup) else error),
        )
        for record, error in told
    ]


GET: Any = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b"", "state": {}}


@pytest.mark.promise("files, transfers: Readers and writers below the lowest pace are left")
def test_a_client_below_the_lowest_pace_exhausts_its_patience() -> None:
    pace = Pace(patience=60, slowest=16_000)
    for _ in range(30):
        pace.waited(10, 16_000 * 8)
    assert pace.left == 0


@pytest.mark.promise("files, transfers: Readers and writers below the lowest pace are left")
def test_a_client_at_the_required_pace_is_served_without_a_time_limit() -> None:
    pace = Pace(patience=60, slowest=16_000)
    for _ in range(10_000):
        pace.waited(10, 16_000 * 10)
    assert pace.left == 60


def test_a_fast_beginning_saves_nothing_up() -> None:
    pace = Pace(patience=60, slowest=16_000)
    pace.waited(0, 10**9)
    assert pace.left == 60


@pytest.mark.promise("files, transfers: Readers and writers below the lowest pace are left")
async def test_a_client_that_reads_nothing_is_disconnected() -> None:
    closed: list[bool] = []

    async def rows() -> AsyncGenerator[bytes, None]:
        try:
            yield b"row"
        finally:
            closed.append(True)

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Future()

    async def silent() -> Message:
        return await asyncio.Future()

    response: Any = Export(rows(), Pace(patience=0.01)).to_asgi_response(app=None, request=Request(GET))
    with pytest.raises(TimeoutError):
        await response(GET, silent, send)
    assert closed == [True]


@pytest.mark.promise("files, hostile files: a worker ends with its client, and with its service")
async def test_work_ends_when_its_client_leaves() -> None:
    begun, ended = asyncio.Event(), list[bool]()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Future()
        finally:
            ended.append(True)

    async def leaves() -> HTTPReceiveMessage:
        await begun.wait()
        return {"type": "http.disconnect"}

    with pytest.raises(ClientGone):
        await while_connected(leaves, work())
    assert ended == [True]


async def test_the_result_and_the_errors_of_the_work_come_through() -> None:
    async def silent() -> HTTPReceiveMessage:
        return await asyncio.Future()

    async def works() -> int:
        return 7

    async def fails() -> int:
        raise ValueError("no")

    assert await while_connected(silent, works()) == 7
    with pytest.raises(ValueError, match="no"):
        await while_connected(silent, fails())


async def test_a_long_read_is_cancelled_when_its_client_leaves() -> None:
    ended = list[bool]()

    async def read() -> None:
        try:
            await asyncio.Future()
        finally:
            ended.append(True)

    async def leaves() -> HTTPReceiveMessage:
        return {"type": "http.disconnect"}

    with pytest.raises(ClientGone):
        await while_asked_for(leaves, read(), long=0)
    assert ended == [True]
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
    await asyncio.sleep(0)


async def test_a_quick_read_looks_after_no_client_and_a_cancelled_one_stays_cancelled() -> None:
    async def never() -> HTTPReceiveMessage:
        raise AssertionError("nobody asks")

    async def silent() -> HTTPReceiveMessage:
        return await asyncio.Future()

    async def quick() -> int:
        return 7

    assert await while_asked_for(never, quick()) == 7
    read: asyncio.Future[int] = asyncio.Future()
    reading = asyncio.create_task(while_asked_for(silent, read, long=0))
    for _ in range(5):
        await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
