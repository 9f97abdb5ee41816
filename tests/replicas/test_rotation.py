"""A replica that dies, hangs or lags leaves the rotation, and comes back; no read fails for it."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable

import pytest

from domain.entities.declaration import Registry
from tests.replicas.service import Process, Servers, rotated
from tests.servers.postgres_servers import PostgresServer
from tests.waiting import until


@pytest.fixture
async def process(pair: Servers, registry: Registry) -> AsyncIterator[Process]:
    async with pair.processes(registry, count=1) as (process,):
        yield process


async def read_until(process: Process, token: str, holds: Callable[[], bool], within: float = 15.0) -> float:
    """Reads without a pause until something holds; returns the longest time that a read took."""
    loop, longest = asyncio.get_running_loop(), 0.0
    async with asyncio.timeout(within):
        while not holds():
            began = loop.time()
            answer = await process.call("GET", "/api/categories", token)
            assert answer.status_code == 200, answer.text
            longest = max(longest, loop.time() - began)
            await asyncio.sleep(0)
    return longest


@pytest.mark.promise(
    "scale, replicas: a replica that dies, hangs or lags leaves the rotation, fails no read, and comes back"
)
async def test_a_replica_that_is_killed_leaves_and_comes_back(
    process: Process, running: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    token = await process.login()
    await rotated(process, token)
    (replica,) = process.reads.replicas
    running.stop(signal.SIGKILL)
    assert await read_until(process, token, lambda: not replica.is_in_rotation) < 1
    assert (await process.call("GET", "/api/categories", token)).status_code == 200
    running.start()
    await read_until(process, token, lambda: replica.is_in_rotation)
    await rotated(process, token)
    told = [record.message for record in caplog.records if record.name.endswith("replica")]
    assert ["does not answer" in told[0], "is read from again" in told[-1]] == [True, True], told
    assert "away" not in caplog.text  # the service itself was not


@pytest.mark.promise(
    "scale, replicas: a replica that dies, hangs or lags leaves the rotation, fails no read, and comes back"
)
@pytest.mark.long
async def test_reads_that_a_silent_replica_holds_are_answered_by_the_primary(
    process: Process, running: PostgresServer
) -> None:
    token = await process.login()
    await rotated(process, token)
    (replica,) = process.reads.replicas
    running.send(signal.SIGSTOP)
    try:
        assert await read_until(process, token, lambda: not replica.is_in_rotation) < 2
    finally:
        running.send(signal.SIGCONT)
    await read_until(process, token, lambda: replica.is_in_rotation)


@pytest.mark.promise(
    "scale, replicas: a replica that dies, hangs or lags leaves the rotation, fails no read, and comes back"
)
@pytest.mark.long
async def test_a_replica_more_than_five_seconds_behind_leaves_until_it_has_caught_up(
    process: Process, running: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    token, other = await process.login(), await process.login()
    await rotated(process, other)
    (replica,) = process.reads.replicas
    await running.run("SELECT pg_wal_replay_pause()")
    try:
        await process.create(token)
        await read_until(process, other, lambda: (replica.lag or 0) > 2)
        assert replica.is_in_rotation
        await read_until(process, other, lambda: not replica.is_in_rotation)
        assert "more than 5 seconds behind" in caplog.text
    finally:
        await running.run("SELECT pg_wal_replay_resume()")
    await read_until(process, other, lambda: replica.is_in_rotation)


@pytest.mark.promise("scale, replicas: nothing is asked of a replica that nobody reads")
@pytest.mark.long
async def test_an_unused_replica_is_not_sampled(process: Process) -> None:
    token = await process.login()
    await rotated(process, token)
    (replica,) = process.reads.replicas

    async def is_sampled() -> bool:
        return replica.is_sampled

    await until(is_sampled, False)
    assert not replica.is_in_rotation
    await rotated(process, token)


@pytest.mark.promise("scale, replicas: what a replica cannot run is run by the primary")
@pytest.mark.long
async def test_a_statement_that_a_replica_cannot_run_is_run_by_the_primary(
    process: Process, primary: PostgresServer, running: PostgresServer
) -> None:
    token = await process.login()
    await rotated(process, token)
    await running.run("SELECT pg_wal_replay_pause()")
    await primary.run("ALTER TABLE categories RENAME TO shelves", database="tenantry")
    try:
        # The replica has the table still; then it has the statement that takes it away, and the primary it back.
        assert (await process.call("GET", "/api/categories", token)).status_code == 200
        await running.run("SELECT pg_wal_replay_resume()")
        asked = "SELECT to_regclass('categories') IS NULL"
        await until(lambda: running.run(asked, database="tenantry"))
        await running.run("SELECT pg_wal_replay_pause()")
        await primary.run("ALTER TABLE shelves RENAME TO categories", database="tenantry")
        assert (await process.call("GET", "/api/categories", token)).status_code == 200
    finally:
        await running.run("SELECT pg_wal_replay_resume()")
