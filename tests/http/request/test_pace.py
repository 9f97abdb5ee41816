"""The lowest pace of who takes a file, and work that ends with its client."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from litestar import Request
from litestar.types import HTTPReceiveMessage, Message

from adapters.http.request.body import ClientGone, while_asked_for
from adapters.http.request.export import Export, Pace, while_connected

GET: Any = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b"", "state": {}}


@pytest.mark.promise("files, transfers: Readers and writers below the lowest pace are left")
def test_who_takes_less_than_the_lowest_pace_uses_the_patience_up() -> None:
    pace = Pace(patience=60, slowest=16_000)
    for _ in range(30):
        pace.waited(10, 16_000 * 8)
    assert pace.left == 0


@pytest.mark.promise("files, transfers: Readers and writers below the lowest pace are left")
def test_who_keeps_the_pace_is_waited_for_without_end() -> None:
    pace = Pace(patience=60, slowest=16_000)
    for _ in range(10_000):
        pace.waited(10, 16_000 * 10)
    assert pace.left == 60


def test_a_fast_beginning_saves_nothing_up() -> None:
    pace = Pace(patience=60, slowest=16_000)
    pace.waited(0, 10**9)
    assert pace.left == 60


@pytest.mark.promise("files, transfers: Readers and writers below the lowest pace are left")
async def test_a_client_that_takes_nothing_is_left() -> None:
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


async def test_a_read_that_takes_long_ends_when_its_client_leaves_and_its_task_goes_on() -> None:
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
