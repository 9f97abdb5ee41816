"""A primary and its replica, real servers that are made once for each worker."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from adapters.postgres.migrations.migrate import upgrade
from domain.entities.declaration import Registry
from tests.replicas.service import Servers
from tests.servers.databases import create_database
from tests.servers.postgres_servers import PostgresServer
from tests.servers.redis_servers import RedisServer
from tests.waiting import until


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    # Short and open to all: the servers run as an account that may not enter the folders of the tests.
    with tempfile.TemporaryDirectory(prefix="tenantry-replicas-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture(scope="session")
async def primary(folder: Path, registry: Registry) -> AsyncIterator[PostgresServer]:
    server = PostgresServer(folder / "primary", "primary").make().start()
    assert await upgrade(await create_database(server.url, "migrated"), registry) == []
    await create_database(server.url, "tenantry", server.url_of("migrated"))
    # Tests kill this server: a commit that was answered is on its disk, and on that of a synchronous standby.
    await server.run("ALTER DATABASE tenantry RESET synchronous_commit")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def replica(folder: Path, primary: PostgresServer) -> Iterator[PostgresServer]:
    server = primary.standby(folder / "replica", "replica").start()
    yield server
    server.stop()


@pytest.fixture
async def running(replica: PostgresServer) -> PostgresServer:
    """The replica, up and without delay, whatever the test before has done to it."""
    if replica.process is None:
        replica.start()
    await delay(replica, 0)
    return replica


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of the test's own."""
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def pair(primary: PostgresServer, running: PostgresServer, redis: RedisServer) -> Servers:
    return Servers(primary.url_of("tenantry"), [running.url_of("tenantry")], redis.url)


async def delay(replica: PostgresServer, milliseconds: int) -> None:
    """Replays each commit that much later."""
    await replica.run(f"ALTER SYSTEM SET recovery_min_apply_delay = {milliseconds}")  # a literal, as DDL wants it
    await replica.run("SELECT pg_reload_conf()")
    asked = "SELECT setting::int FROM pg_settings WHERE name = 'recovery_min_apply_delay'"
    await until(lambda: replica.run(asked), milliseconds)
