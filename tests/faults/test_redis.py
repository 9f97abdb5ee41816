"""Redis stopped, emptied, slow, full and taken over: requests are answered all the while, and no token lives again."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.faults.rig import RECOVERED_WITHIN, Rig
from tests.faults.test_postgres import holds_no_more_than_before
from tests.faults.traffic import Traffic, traffic_on
from tests.redis_server import RedisServer

pytestmark = pytest.mark.timeout(180)

Fault = Callable[[Rig], Awaitable[None]]


@pytest.fixture
async def traffic(rig: Rig) -> Traffic:
    await rig.postgres.ask("DELETE FROM products")
    return await traffic_on(rig)


async def tell(port: int, *words: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"*{len(words)}", *(line for word in words for line in (f"${len(word)}", word))]
    writer.write("\r\n".join([*lines, ""]).encode())
    answer = await reader.readline()
    writer.close()
    return answer


async def is_stopped(rig: Rig) -> None:
    rig.redis.kill()
    await asyncio.sleep(1.5)
    rig.redis.start()


async def is_flushed(rig: Rig) -> None:
    for _ in range(10):
        assert await tell(rig.redis.port, "FLUSHALL") == b"+OK\r\n"
        await asyncio.sleep(0.1)


async def is_slow(rig: Rig) -> None:
    for delay in (0.05, 0.4):  # below and above what a call waits for
        rig.redis_wire.delay = delay
        await asyncio.sleep(2)
    rig.redis_wire.delay = 0.0


async def is_full(rig: Rig) -> None:
    assert await tell(rig.redis.port, "CONFIG", "SET", "maxmemory-policy", "noeviction") == b"+OK\r\n"
    assert await tell(rig.redis.port, "CONFIG", "SET", "maxmemory", "1") == b"+OK\r\n"
    await asyncio.sleep(3)
    assert await tell(rig.redis.port, "CONFIG", "SET", "maxmemory", "0") == b"+OK\r\n"


async def is_taken_over(rig: Rig) -> None:
    """A replica becomes the first one while the old one goes on, and the way leads to the new one then."""
    folder = Path(rig.folder) / "replica"
    folder.mkdir(exist_ok=True)
    old, new = rig.redis, RedisServer(folder)
    new.start()
    await tell(new.port, "REPLICAOF", "127.0.0.1", str(old.port))
    async with asyncio.timeout(20):
        while await tell(new.port, "EVAL", LINK, "0") != b":1\r\n":
            pass
    await asyncio.sleep(0.5)
    rig.redis_wire.cut()
    rig.redis_wire.target = new.port
    rig.redis_wire.mend()  # for a moment it is a replica still, which refuses what is written
    await asyncio.sleep(0.5)
    assert await tell(new.port, "REPLICAOF", "NO", "ONE") == b"+OK\r\n"
    old.kill()
    rig.redis = new


LINK = "return string.match(redis.call('INFO', 'replication'), 'master_link_status:up') and 1 or 0"


@pytest.mark.promise(
    "security, faults: While Redis is stopped, emptied, slow, full or taken over, requests are answered, and no token "
    "lives again"
)
@pytest.mark.long
@pytest.mark.parametrize("fault", [is_stopped, is_flushed, is_slow, is_full, is_taken_over])
async def test_requests_are_answered_all_the_while_and_no_token_lives_again(
    rig: Rig, traffic: Traffic, fault: Fault
) -> None:
    files = sum(process.open_files() for process in rig.processes)
    async with traffic.flowing():
        await asyncio.sleep(0.5)
        await fault(rig)
        took = await rig.recovers(fault.__name__, traffic.works)
    assert took < RECOVERED_WITHIN, rig.said()[-2000:]
    assert await rig.recovers("ready", lambda: all_ready(rig)) < RECOVERED_WITHIN
    await traffic.verify()
    assert traffic.statuses() <= {200, 201}
    await holds_no_more_than_before(rig, files)
    assert "Traceback" not in rig.said(), rig.said()[-6000:]


async def all_ready(rig: Rig) -> bool:
    answers = [await client.call("GET", "/health/ready") for client in rig.clients]
    return [answer.json()["status"] for answer in answers] == ["ready"] * 2
