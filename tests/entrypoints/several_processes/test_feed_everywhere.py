"""The feed on two processes, with and without Redis."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.contracts.entities.changes.listeners import Listener
from tests.entrypoints.pair import Client, Pair, pair_on
from tests.waiting import HUNG_AFTER

pytestmark = pytest.mark.end_to_end

WITHOUT_REDIS = 1.2
"""Seconds from a write to its event."""


@pytest.fixture
async def pair(followed: dict[str, str], tmp_path: Path) -> AsyncIterator[Pair]:
    async with pair_on(tmp_path, followed["DATABASE_URL"], ENTITIES=followed["ENTITIES"]) as pair:
        yield pair


async def pieces(client: Client, token: str) -> AsyncGenerator[bytes, None]:
    headers = {"Authorization": f"Bearer {token}"}
    async with client.client.stream("GET", "/api/changes/stream", headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        async for piece in answer.aiter_raw():
            yield piece


async def page(client: Client, token: str, query: str = "") -> Any:
    answer = await client.call("GET", f"/api/changes{query}", token=token)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


async def post(client: Client, token: str, title: str) -> float:
    """Write a row; return the time after the answer."""
    await client.make("/api/postings", {"title": title}, token)
    return asyncio.get_running_loop().time()


@pytest.mark.promise("entities, changes: a write on one process is received on all, without Redis within 1.2 s")
async def test_readers_of_one_process_receive_the_writes_of_the_other(pair: Pair) -> None:
    root, loop = (await pair.first.log_in())["token"], asyncio.get_running_loop()
    listeners = [await Listener(pieces(client, root)).opened() for client in pair.clients]
    titles = list[str]()
    for is_cut in (False, True, False):
        for wire in pair.wires:
            wire.cut() if is_cut else wire.mend()
        delays = list[float]()
        for writer in (*pair.clients, *pair.clients, pair.first):
            cursor = (await page(pair.second, root))["cursor"]
            waiting = asyncio.create_task(page(pair.second, root, f"?wait=20&after={cursor}"))
            titles.append(pair.fresh("posting"))
            written = await post(writer, root, titles[-1])
            for listener in listeners:
                await listener.first(len(titles))
                delays.append(loop.time() - written)
            (item,) = (await asyncio.wait_for(waiting, HUNG_AFTER))["items"]
            delays.append(loop.time() - written)
            assert item["data"]["title"] == titles[-1]
        assert median(delays) < WITHOUT_REDIS, (is_cut, delays)
    for listener in listeners:
        assert [each.data["data"]["title"] for each in listener.told] == titles
        assert [each.data["action"] for each in listener.told] == ["created"] * len(titles)
        await listener.close()


@pytest.mark.promise("GET /api/changes/stream: a stream ends with its rights, within one event or 5 seconds")
async def test_a_stream_of_the_other_process_ends_with_its_rights_also_without_redis(pair: Pair) -> None:
    loop = asyncio.get_running_loop()
    for is_cut in (False, True):
        for is_quiet in (True, False):
            token = (await pair.first.log_in())["token"]
            listener = await Listener(pieces(pair.second, token)).opened()
            for wire in pair.wires:
                wire.cut() if is_cut else wire.mend()
            assert (await pair.first.call("POST", "/api/auth/logout", token=token)).status_code == 200
            began = loop.time()
            if not is_quiet:
                again = (await pair.first.log_in())["token"]
                await post(pair.first, again, pair.fresh("after the logout"))
            assert await listener.ending() == "revoked"
            assert loop.time() - began < 5.0
            assert b"after the logout" not in listener.raw
            for wire in pair.wires:
                wire.mend()
