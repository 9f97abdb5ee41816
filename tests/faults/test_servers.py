"""PostgreSQL stopped, killed, slow, full and cut: 503 while it lasts, nothing lost, and soon all is as before.

Redis stopped, emptied, slow, full and taken over: requests are answered all the while, and no token lives again.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import asyncpg
import pytest

from tests.faults.postgres_server import CONNECTIONS as PLACES
from tests.faults.rig import CONNECTIONS, RECOVERED_WITHIN, Rig
from tests.faults.traffic import Traffic, traffic_on
from tests.servers.redis_servers import RedisServer

pytestmark = pytest.mark.timeout(180)

Fault = Callable[[Rig], Awaitable[None]]
"""Lasts until it returns: recovery counts from then."""

OURS = "application_name LIKE 'tenantry%'"


@pytest.fixture
async def traffic(rig: Rig) -> Traffic:
    await rig.postgres.ask("DELETE FROM products")
    return await traffic_on(rig)


async def is_stopped(rig: Rig) -> None:
    await is_away(rig, signal.SIGINT, 1.5)


async def is_stopped_at_once(rig: Rig) -> None:
    await is_away(rig, signal.SIGQUIT, 0.5)


async def is_killed(rig: Rig) -> None:
    await is_away(rig, signal.SIGKILL, 0.0)


async def is_away(rig: Rig, how: signal.Signals, seconds: float) -> None:
    await asyncio.to_thread(rig.postgres.end, how)
    await asyncio.sleep(seconds)
    await asyncio.to_thread(rig.postgres.start)


async def is_slow(rig: Rig) -> None:
    rig.database_wire.delay = 0.2
    await asyncio.sleep(4)
    rig.database_wire.delay = 0.0


async def is_cut_off(rig: Rig) -> None:
    for _ in range(5):
        rig.database_wire.cut()
        await asyncio.sleep(0.1)
        rig.database_wire.mend()
        await asyncio.sleep(0.2)


async def has_no_connection_left(rig: Rig) -> None:
    """Others take every place that the service loses, those of superusers too."""
    others: list[asyncpg.Connection[asyncpg.Record]] = []
    for _ in range(200):
        try:
            others.append(await rig.postgres.connect())
        except asyncpg.TooManyConnectionsError:
            if len(others) >= PLACES - 1:
                break
        await others[0].fetch(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OURS}")
    assert len(others) >= PLACES - 2
    await asyncio.sleep(1)
    for other in others:
        await other.close()


async def fails_in_mid_transaction(rig: Rig) -> None:
    """Whoever is in a transaction at that moment loses its connection, again and again."""
    chance = Random(3)
    server = await rig.postgres.connect()
    for _ in range(60):
        await asyncio.sleep(chance.random() * 0.05)
        await server.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE {OURS} AND (state <> 'idle' OR random() < 0.1)"
        )
    await server.close()


QUICK = [is_killed, fails_in_mid_transaction]
LONG = [is_stopped, is_stopped_at_once, is_slow, is_cut_off, has_no_connection_left]


@pytest.mark.promise(
    "security, faults: While PostgreSQL is stopped, killed, slow, cut off, out of connections or loses transactions, "
    "requests are answered or get 503; nothing that was answered is lost, and all works again within five seconds"
)
@pytest.mark.parametrize("fault", [*QUICK, *(pytest.param(fault, marks=pytest.mark.long) for fault in LONG)])
async def test_answered_writes_survive_a_server_fault_and_the_service_recovers(
    rig: Rig, traffic: Traffic, fault: Fault
) -> None:
    files = sum(process.open_files() for process in rig.processes)
    async with traffic.flowing():
        await asyncio.sleep(0.5)
        await fault(rig)
        took = await rig.recovers(fault.__name__, traffic.works)
    assert took < RECOVERED_WITHIN, rig.said()[-2000:]
    await traffic.verify()
    assert traffic.statuses() - {503} == {200, 201}
    assert 503 in traffic.statuses() or fault is is_slow
    await holds_no_more_than_before(rig, files)
    assert "Traceback" not in rig.said(), rig.said()[-6000:]
    assert "never retrieved" not in rig.said()


async def holds_no_more_than_before(rig: Rig, files: int) -> None:
    """Connections of the service within its limit, none in a transaction, and no more open files."""

    async def is_quiet() -> bool:
        rows = await rig.postgres.ask(f"SELECT state FROM pg_stat_activity WHERE {OURS}")
        return all(row["state"] == "idle" for row in rows) and len(rows) <= 2 * (CONNECTIONS + 1)

    assert await rig.recovers("quiet", is_quiet) < RECOVERED_WITHIN
    # each process may hold as many connections to the database as it is allowed, and had fewer before
    assert sum(process.open_files() for process in rig.processes) <= files + 2 * CONNECTIONS + 8


async def tell(port: int, *words: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"*{len(words)}", *(line for word in words for line in (f"${len(word)}", word))]
    writer.write("\r\n".join([*lines, ""]).encode())
    answer = await reader.readline()
    writer.close()
    return answer


async def is_stopped_of_redis(rig: Rig) -> None:
    rig.redis.kill()
    await asyncio.sleep(1.5)
    rig.redis.start()


async def is_flushed(rig: Rig) -> None:
    for _ in range(10):
        assert await tell(rig.redis.port, "FLUSHALL") == b"+OK\r\n"
        await asyncio.sleep(0.1)


async def is_slow_of_redis(rig: Rig) -> None:
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
@pytest.mark.parametrize("fault", [is_stopped_of_redis, is_flushed, is_slow_of_redis, is_full, is_taken_over])
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
