"""PostgreSQL stopped, killed, slow, full and cut: 503 while it lasts, nothing lost, and soon all is as before."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from random import Random

import asyncpg
import pytest

from tests.faults.postgres_server import CONNECTIONS as PLACES
from tests.faults.rig import CONNECTIONS, RECOVERED_WITHIN, Rig
from tests.faults.traffic import Traffic, traffic_on

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
async def test_what_was_answered_is_kept_and_all_works_again_soon(rig: Rig, traffic: Traffic, fault: Fault) -> None:
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
