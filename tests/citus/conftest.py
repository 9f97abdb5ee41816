"""A database on a Citus cluster: ``TENANTRY_TEST_CITUS_URL`` has URLs of a coordinator and its nodes, with commas."""

import os
from collections.abc import AsyncIterator
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade
from adapters.postgres.operations.distribution import distribute
from domain.entities.declaration import Registry
from tests.servers.databases import create_database, drop_database


class Cluster:
    """``urls`` are those of the coordinator and of its nodes."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls

    async def create(self) -> "Cluster":
        """Create a database on each node, which does not have the extension."""
        name = f"tenantry_test_{uuid4().hex[:12]}"
        return Cluster([await create_database(url, name) for url in self.urls])

    async def install(self) -> None:
        """Create the extension, and join the nodes."""
        for url in self.urls:
            await self._run(url, "CREATE EXTENSION IF NOT EXISTS citus")
        # Fewer shards than by default, because each is a table.
        name = urlsplit(self.urls[0]).path.removeprefix("/")
        await self._run(self.urls[0], f'ALTER DATABASE "{name}" SET citus.shard_count = 4')
        places = [(urlsplit(url).hostname, urlsplit(url).port) for url in self.urls]
        host, port = places[0]
        await self._run(self.urls[0], f"SELECT citus_set_coordinator_host('{host}', {port})")
        for host, port in places[1:]:
            await self._run(self.urls[0], f"SELECT citus_add_node('{host}', {port})")

    async def drop(self) -> None:
        for url in self.urls:
            await drop_database(url)

    async def _run(self, url: str, statement: str) -> None:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


@pytest.fixture(scope="session")
def servers_of_citus() -> Cluster:
    urls = os.environ.get("TENANTRY_TEST_CITUS_URL")
    if not urls:
        pytest.skip("TENANTRY_TEST_CITUS_URL is not set")
    return Cluster(urls.split(","))


@pytest.fixture(scope="session")
async def cluster(servers_of_citus: Cluster, registry: Registry) -> AsyncIterator[Cluster]:
    """A migrated and distributed database, which had the extension before its tables."""
    made = await servers_of_citus.create()
    await made.install()
    assert await upgrade(made.urls[0], registry) == []
    await distribute(made.urls[0], registry)
    yield made
    await made.drop()


@pytest.fixture(scope="session")
async def database(cluster: Cluster, registry: Registry) -> AsyncIterator[PostgresDatabase]:
    made = PostgresDatabase(cluster.urls[0], registry, CountingIds(), connections=4, pooler="citus")
    await made.open()
    yield made
    await made.close()
