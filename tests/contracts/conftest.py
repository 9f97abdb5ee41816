"""Fixtures of contracts: the shared memory of this process and of a Redis, and databases of the test library."""

from collections.abc import AsyncIterator, Iterator

import pytest

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.whole_database import WholeDatabase
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.registry import build_registry
from domain.scope import EveryTenant
from tests.conftest import NewDatabase
from tests.library import LIBRARY
from tests.servers.redis_servers import RedisServer, open_cluster
from tests.servers.shared_memories import Shared, SharedMemory, SharedRedis

_IDS = CountingIds()
"""Ids of all modules: rows of one may be there in the next."""


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="module", params=["memory", "redis", "cluster"])
async def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shared]:
    if request.param == "memory":
        yield SharedMemory()
        return
    if request.param == "cluster":
        async with open_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
            spread = SharedRedis(cluster.url, spread=True, lose=cluster.flush)
            await spread.open()
            yield spread
            await spread.close()
        return
    server: RedisServer = request.getfixturevalue("redis_server")
    redis = SharedRedis(server.url)
    await redis.open()
    yield redis
    await redis.close()


@pytest.fixture(scope="session")
def library_registry() -> Registry:
    return build_registry([*ENTITIES, *BUILTIN_ENTITIES, *LIBRARY])


@pytest.fixture(scope="session")
async def library_url(
    new_database: NewDatabase, library_registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """A database for the library's entities, made by the migration that is generated from them."""
    url, folders = await new_database(), [VERSIONS, tmp_path_factory.mktemp("migrations")]
    assert await write_migration(url, library_registry, "library", folders) is not None
    assert await upgrade(url, library_registry, folders) == []
    return url


@pytest.fixture(scope="module")
async def open_library(library_url: str, library_registry: Registry) -> AsyncIterator[PostgresDatabase]:
    """Closed after each module: all workers of the tests share the connections of one server."""
    database = PostgresDatabase(library_url, library_registry, _IDS, connections=12)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def postgres_library(open_library: PostgresDatabase) -> AsyncIterator[PostgresDatabase]:
    """The library's database, emptied after each test."""
    yield open_library
    async with open_library.transaction(EveryTenant()) as tx:
        for table in ("kept_answers", "seats", "visits", "marks", "picks", "loans", "volumes", "shelves", "genres"):
            await tx.connection.execute(f"DELETE FROM {table}")


@pytest.fixture
def memory_library(library_registry: Registry) -> MemoryDatabase:
    return MemoryDatabase(library_registry, CountingIds())


@pytest.fixture(params=["memory", "postgres"])
def library(request: pytest.FixtureRequest) -> WholeDatabase:
    adapter: WholeDatabase = request.getfixturevalue(f"{request.param}_library")
    return adapter
