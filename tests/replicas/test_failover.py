"""The primary is lost, a standby promoted: the service finds it by itself, and says what may be lost."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from domain.entities.declaration import Registry
from tests.replicas.service import Process, Servers, rotated
from tests.servers.postgres_servers import PostgresServer
from tests.servers.redis_servers import RedisServer
from tests.waiting import until

FOUND_WITHIN = 5.0
"""Seconds after a promotion in which writes have to be taken again."""
WRITES = int(os.environ.get("TENANTRY_TEST_WRITES", "80"))


@dataclass
class Cluster:
    """A primary, the standby that takes over, and another one that is read from."""

    primary: PostgresServer
    heir: PostgresServer
    replica: PostgresServer | None = None

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in (self.primary, self.heir))
        return f"postgresql://tenantry@{hosts}/tenantry?target_session_attrs=primary"

    async def lose_primary(self) -> None:
        """Kills the primary, and promotes its heir."""
        self.primary.stop(signal.SIGKILL)
        await self.heir.promote()

    async def ids(self) -> set[str]:
        connection = await asyncpg.connect(self.heir.url_of("tenantry"))
        rows = await connection.fetch("SELECT id FROM categories")
        await connection.close()
        return {str(UUID(str(row["id"]))) for row in rows}


@pytest.fixture
def cluster(primary: PostgresServer) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="tenantry-failover-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        first = primary.copy(folder / "first", "first").start()
        cluster = Cluster(first, first.standby(folder / "heir", "heir").start())
        cluster.replica = first.standby(folder / "other", "other").start()
        yield cluster
        for server in (cluster.primary, cluster.heir, cluster.replica):
            server.stop()


@pytest.fixture
async def process(cluster: Cluster, redis: RedisServer, registry: Registry) -> AsyncIterator[Process]:
    assert cluster.replica is not None
    servers = Servers(cluster.url, [cluster.replica.url_of("tenantry")], redis.url)
    async with servers.processes(registry, count=1) as (process,):
        yield process


@dataclass
class Writer:
    """Creates rows one after the other, and keeps the ids of those that were answered."""

    process: Process
    token: str
    answered: list[str] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)

    async def write(self) -> bool:
        answer = await self.process.call("POST", "/api/categories", self.token, json={"name": os.urandom(8).hex()})
        if answer.status_code == 201:
            self.answered.append(answer.json()["data"]["id"])
        else:
            self.refused.add(answer.status_code)
        return answer.status_code == 201

    async def has(self, number: int) -> bool:
        return len(self.answered) >= number

    async def write_until(self, ended: asyncio.Event) -> None:
        while not ended.is_set():
            await self.write()
            await asyncio.sleep(0.001)


@pytest.mark.promise(
    "scale, failover: with a synchronous standby nothing that was answered is lost, and writes are taken again within "
    "five seconds"
)
@pytest.mark.long
async def test_a_synchronous_standby_loses_nothing_that_was_answered(cluster: Cluster, process: Process) -> None:
    await cluster.primary.run("ALTER SYSTEM SET synchronous_standby_names = 'heir'")
    await cluster.primary.run("SELECT pg_reload_conf()")
    asked = "SELECT sync_state FROM pg_stat_replication WHERE application_name = 'heir'"
    await until(lambda: cluster.primary.run(asked), "sync")
    writer, ended = Writer(process, await process.login()), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(writer.write_until(ended))
        await until(lambda: writer.has(WRITES // 2))
        await cluster.lose_primary()
        promoted = len(writer.answered)
        async with asyncio.timeout(FOUND_WITHIN):
            await until(lambda: writer.has(promoted + 20))
        ended.set()
    assert set(writer.answered) <= await cluster.ids()
    assert writer.refused <= {503}


@pytest.mark.promise("scale, failover: with an asynchronous one that much is lost which it had not received")
@pytest.mark.long
async def test_an_asynchronous_standby_loses_what_it_had_not_received(cluster: Cluster, process: Process) -> None:
    writer = Writer(process, await process.login())
    for _ in range(5):
        assert await writer.write()
    kept = list(writer.answered)
    asked = "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn"
    reached = await cluster.primary.run("SELECT pg_current_wal_insert_lsn()::text")
    await until(lambda: cluster.heir.run(asked, reached))
    await follow(cluster.heir, 1)  # its network is gone
    await until(lambda: cluster.heir.run("SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'"), 0)
    for _ in range(5):
        assert await writer.write()
    await cluster.lose_primary()
    async with asyncio.timeout(FOUND_WITHIN):
        await until(writer.write)
    left = await cluster.ids()
    assert set(kept) <= left
    # Or the test above would not need its synchronous standby.
    assert not set(writer.answered[5:10]) & left
    assert writer.answered[-1] in left


@pytest.mark.promise(
    "scale, failover: a replica that does not follow the new primary is not read from, and is again when it does"
)
@pytest.mark.long
async def test_a_replica_is_read_from_again_once_it_follows_the_new_primary(
    cluster: Cluster, process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    assert cluster.replica is not None
    writer, other = Writer(process, await process.login()), await process.login()
    await rotated(process, other)
    await cluster.lose_primary()
    async with asyncio.timeout(FOUND_WITHIN):
        await until(writer.write)
    (replica,) = process.reads.replicas
    # The replica still asks the old primary, and would never have what is written now.
    for _ in range(10):
        assert await writer.write()
        found = await process.call("GET", f"/api/categories/{writer.answered[-1]}", writer.token)
        assert found.status_code == 200
    await until(lambda: told(caplog, "has not followed the primary to timeline 2"))
    assert not replica.is_in_rotation
    await follow(cluster.replica, cluster.heir.port)
    await rotated(process, other)


async def follow(server: PostgresServer, port: int) -> None:
    await server.run(f"ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port={port} user=tenantry'")
    await server.run("SELECT pg_reload_conf()")


async def told(caplog: pytest.LogCaptureFixture, sentence: str) -> bool:
    return sentence in caplog.text
