"""Log lines about outages of Redis: one when an outage begins and one when it ends, whatever makes it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from adapters.redis.breaker import LONGEST_PAUSE, Breaker
from adapters.redis.cache import RedisCache
from adapters.redis.client import redis_client
from adapters.redis.commands import Commands
from adapters.redis.shared_pipeline import Away, SharedPipeline
from domain.limits import Hit, Limit
from tests.redis_server import RedisServer
from tests.waiting import HUNG_AFTER

HIT = Hit(Limit("login", 1_000), "address:192.0.2.1")
BEGINS, ENDS = "Redis is away", "Redis answers again."

FAULTS = {
    "a replica": (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
    "no memory": (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
    "no scripts by name": (("ACL", "SETUSER", "default", "-evalsha"), ("ACL", "SETUSER", "default", "+evalsha")),
}
"""What a server can be told so that it answers some commands and refuses others, and how this is taken back."""


class Pauses:
    """The clock of a Breaker, which a test moves past each pause."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def pipeline(server: RedisServer, pauses: Pauses) -> AsyncIterator[SharedPipeline]:
    # patient: a busy machine is no outage here
    pipeline = SharedPipeline(redis_client(server.url), Breaker(pauses), patience=HUNG_AFTER)
    yield pipeline
    await pipeline.close()


async def tell(server: RedisServer, *order: str) -> None:
    async with Redis.from_url(server.url) as client:
        sent: Any = client.execute_command  # typed for the client's other methods alone
        await sent(*order)


async def is_counted(pipeline: SharedPipeline, pauses: Pauses) -> bool:
    """Whether a request is counted after a pause and the attempt that follows it."""
    for _ in range(2):
        pauses.now += LONGEST_PAUSE
        with suppress(Away):
            await pipeline.call(Commands().admit([HIT], None))
            return True
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
    return False


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition(" (")[0] for record in caplog.records]


@pytest.mark.promise(
    "declarations, internal errors: an outage of Redis is one warning when it begins and one when it ends"
)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_server_that_refuses_some_commands_is_one_outage(
    server: RedisServer, pipeline: SharedPipeline, pauses: Pauses, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    begin, end = FAULTS[fault]
    assert await is_counted(pipeline, pauses)
    for _ in range(2):
        await tell(server, *begin)
        assert not any([await is_counted(pipeline, pauses) for _ in range(4)])
        await tell(server, *end)
        assert await is_counted(pipeline, pauses)
        assert await is_counted(pipeline, pauses)
    assert said(caplog) == [BEGINS, ENDS] * 2


@pytest.mark.promise(
    "declarations, internal errors: an outage of Redis is one warning when it begins and one when it ends"
)
async def test_a_server_that_is_gone_is_one_outage(
    server: RedisServer, pipeline: SharedPipeline, pauses: Pauses, caplog: pytest.LogCaptureFixture
) -> None:
    assert await is_counted(pipeline, pauses)
    server.kill()
    commands = [Commands().admit([HIT], None) for _ in range(600)]
    answers = await asyncio.gather(*map(pipeline.call, commands), return_exceptions=True)
    assert {type(answer) for answer in answers} == {Away}
    assert not any([await is_counted(pipeline, pauses) for _ in range(4)])
    server.start()
    assert await is_counted(pipeline, pauses)
    assert said(caplog) == [BEGINS, ENDS]


async def test_a_command_that_is_refused_again_and_again_is_one_line(
    server: RedisServer, pipeline: SharedPipeline, pauses: Pauses, caplog: pytest.LogCaptureFixture
) -> None:
    cache = RedisCache(pipeline)
    await tell(server, "ACL", "SETUSER", "default", "-get")
    assert [await cache.get(key) for key in "abc"] == [None] * 3
    assert await is_counted(pipeline, pauses)
    assert said(caplog) == ["Redis refuses GET"]
