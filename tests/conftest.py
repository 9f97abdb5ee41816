"""Shared fixtures: servers, a migrated database per worker, and the adapters that contracts run against."""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from os import environ
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from adapters.embedded import EmbeddedServices, start_embedded
from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade
from adapters.postgres.schema.schema import metadata_for
from application.ports.whole_database import WholeDatabase
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.registry import build_registry
from tests.databases import create_database, drop_database, named

NewDatabase = Callable[[], Awaitable[str]]

LONG = ("test_races.py", "test_docs_page.py", "test_twins.py", "test_cli.py", "test_hostile_files.py", "test_serve.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Moves long files to the front, so that no worker runs one of them alone at the end."""
    items.sort(key=lambda item: (item.path.name not in LONG, item.path.parent.name != "entrypoints"))


@pytest.fixture(scope="session")
def registry() -> Registry:
    return build_registry([*ENTITIES, *BUILTIN_ENTITIES])


@pytest.fixture(scope="session")
def servers() -> Iterator[tuple[str, str]]:
    """URLs of PostgreSQL and Redis: from the environment, else of embedded servers."""
    database_url = environ.get("TENANTRY_TEST_DATABASE_URL")
    redis_url = environ.get("TENANTRY_TEST_REDIS_URL")
    with tempfile.TemporaryDirectory(prefix="tenantry-tests-") as folder:
        embedded: EmbeddedServices = start_embedded(
            Path(folder), postgres=database_url is None, valkey=redis_url is None, durable=False
        )
        try:
            yield database_url or str(embedded.owner_url), redis_url or str(embedded.redis_url)
        finally:
            embedded.stop()


@pytest.fixture(scope="session")
def redis_url(servers: tuple[str, str]) -> str:
    return servers[1]


@pytest.fixture(scope="session")
async def template(servers: tuple[str, str], registry: Registry) -> AsyncIterator[str]:
    """A migrated database without connections, for CREATE DATABASE … TEMPLATE."""
    url = await create_database(servers[0], f"tenantry_test_{uuid4().hex[:12]}")
    assert await upgrade(url, registry) == []
    yield url
    await drop_database(url)


@pytest.fixture(scope="session")
async def new_database(template: str) -> AsyncIterator[NewDatabase]:
    """Makes migrated and empty databases, which are dropped after the tests."""
    made: list[str] = []

    async def make() -> str:
        made.append(await create_database(template, f"{named(template)}_{len(made)}", template))
        return made[-1]

    yield make
    for url in made:
        await drop_database(url)


@pytest.fixture(scope="session")
async def database_url(new_database: NewDatabase) -> str:
    return await new_database()


@pytest.fixture(scope="session")
async def owner(database_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection as the owner of the tables, to whom row-level security does not apply."""
    connection = await asyncpg.connect(database_url, server_settings={"tenantry.scope": "every"})
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
async def open_postgres(database_url: str, registry: Registry) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=12)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def postgres(
    open_postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> PostgresDatabase:
    """A PostgreSQL database, emptied before each test."""
    tables = reversed(metadata_for(registry).sorted_tables)
    await owner.execute("; ".join(f"DELETE FROM {table.name}" for table in tables))
    return open_postgres


@pytest.fixture
def memory(registry: Registry) -> MemoryDatabase:
    return MemoryDatabase(registry, CountingIds())


@pytest.fixture(params=["memory", "postgres"])
def database(request: pytest.FixtureRequest) -> WholeDatabase:
    """Each adapter of the database in turn: contracts hold for all of them."""
    adapter: WholeDatabase = request.getfixturevalue(request.param)
    return adapter


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def ids() -> CountingIds:
    return CountingIds()
