"""The application with tasks on both adapters of the database."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.schema.schema import metadata_for
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.scope import EveryTenant
from tests.conftest import NewDatabase
from tests.http.app import registry_of
from tests.http.entities.ownership.tasks import ENTITIES, Tasks, open_tasks

_IDS = CountingIds()
"""Ids of all modules: rows of one may be there in the next."""


@pytest.fixture(scope="session")
def tasks_registry() -> Registry:
    return registry_of(ENTITIES)


@pytest.fixture(scope="session")
async def tasks_url(
    new_database: NewDatabase, tasks_registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> str:
    url, folders = await new_database(), [VERSIONS, tmp_path_factory.mktemp("migrations")]
    assert await write_migration(url, tasks_registry, "tasks", folders) is not None
    assert await upgrade(url, tasks_registry, folders) == []
    return url


@pytest.fixture(scope="module")
async def open_tasks_database(tasks_url: str, tasks_registry: Registry) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(tasks_url, tasks_registry, _IDS, connections=12)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def tasks_postgres(
    open_tasks_database: PostgresDatabase, tasks_registry: Registry
) -> AsyncIterator[PostgresDatabase]:
    """The database of tasks, emptied after each test."""
    yield open_tasks_database
    tables = [table.name for table in reversed(metadata_for(tasks_registry).sorted_tables)]
    async with open_tasks_database.transaction(EveryTenant()) as tx:
        await tx.connection.execute("SET LOCAL ROLE NONE")
        await tx.connection.execute("; ".join(f"DELETE FROM {table}" for table in tables))


@pytest.fixture
def tasks_memory(tasks_registry: Registry) -> MemoryDatabase:
    return MemoryDatabase(tasks_registry, CountingIds())


@pytest.fixture(params=["memory", "postgres"])
def tasks_database(request: pytest.FixtureRequest) -> WholeDatabase:
    adapter: WholeDatabase = request.getfixturevalue(f"tasks_{request.param}")
    return adapter


@pytest_asyncio.fixture
async def tasks(tasks_database: WholeDatabase, tasks_registry: Registry) -> AsyncIterator[Tasks]:
    opened = await open_tasks(tasks_database, tasks_registry)
    yield opened
    await opened.app.client.aclose()
