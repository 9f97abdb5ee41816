"""On a replica too, statements and row-level security each keep tenants apart alone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.replicas.positions import PrimaryLog
from adapters.postgres.replicas.reads import replica_database
from adapters.postgres.replicas.replica import Replica
from adapters.postgres.schema.schema import metadata_for
from adapters.postgres.transaction import PostgresTransaction
from adapters.system import Uuid7Ids
from domain.entities.declaration import Registry
from domain.errors import InternalError
from domain.scope import EveryTenant, Scope
from tests.http.entities.isolation.isolation import PLURALS, Ground, ensure_absent_elsewhere, open_ground
from tests.http.entities.isolation.test_two_walls import without_condition
from tests.servers.databases import create_database, drop_database
from tests.servers.postgres_servers import PostgresServer

FIXTURES = (without_condition,)


@dataclass
class FromReplica:
    """Reads by the replica alone, each after it has replayed all that was written before."""

    replica: Replica

    async def read(self, scope: Scope, question: Callable[[PostgresTransaction], Awaitable[Any]]) -> Any:
        await self.caught_up()
        async with self.replica.database.read_only(scope) as read:
            return await question(read)

    @asynccontextmanager
    async def read_transaction(self, scope: Scope) -> AsyncIterator[PostgresTransaction]:
        await self.caught_up()
        async with self.replica.database.read_transaction(scope) as read:
            yield read

    async def caught_up(self) -> None:
        position = await self.replica.primary.position()
        await self.replica.await_position(position, asyncio.get_running_loop().time() + 10)
        assert self.replica.has(position)


@pytest.fixture
async def walls(primary: PostgresServer) -> str:
    """A database of the test's own."""
    await drop_database(primary.url_of("walls"))
    return await create_database(primary.url, "walls", primary.url_of("migrated"))


@pytest.fixture
async def ground(walls: str, running: PostgresServer, registry: Registry) -> AsyncIterator[Ground]:
    database = PostgresDatabase(walls, registry, Uuid7Ids())
    await database.open()
    replica = Replica("replica", replica_database(database, running.url_of("walls")), PrimaryLog(walls))
    await replica.database.open()
    made = await open_ground(database, registry, FromReplica(replica))
    yield made
    await made.app.client.aclose()
    await replica.close()
    await replica.primary.close()
    await database.close()


async def without_policies(url: str, registry: Registry) -> None:
    owner = await asyncpg.connect(url)
    for table in metadata_for(registry).sorted_tables:
        await owner.execute(f"ALTER TABLE {table.name} DISABLE ROW LEVEL SECURITY")
    await owner.close()


@pytest.mark.promise("scale, replicas: on a replica each of the two walls keeps tenants apart alone")
async def test_row_level_security_without_conditions_isolates_tenants(
    ground: Ground, walls: str, registry: Registry, request: pytest.FixtureRequest
) -> None:
    for plural in PLURALS:
        await ensure_absent_elsewhere(ground, plural)
    request.getfixturevalue("without_condition")
    for plural in PLURALS:
        await ensure_absent_elsewhere(ground, plural)
    await without_policies(walls, registry)
    with pytest.raises(AssertionError):  # or nothing would have been taken away
        await ensure_absent_elsewhere(ground, "categories")


@pytest.mark.promise("scale, replicas: on a replica each of the two walls keeps tenants apart alone")
async def test_statements_without_row_level_security_isolate_tenants(
    ground: Ground, walls: str, registry: Registry
) -> None:
    await without_policies(walls, registry)
    for plural in PLURALS:
        await ensure_absent_elsewhere(ground, plural)


async def test_a_replica_writes_nothing_and_is_asked_as_the_service(ground: Ground) -> None:
    reads = ground.app.services.crud.reads
    assert isinstance(reads, FromReplica)
    await reads.caught_up()  # the database itself is a change that the replica replays
    database = reads.replica.database
    async with database.lent("every") as connection:
        assert await connection.fetchval("SELECT current_user || ' ' || pg_is_in_recovery()") == "tenantry_service true"
    with pytest.raises(InternalError):
        async with database.read_only(EveryTenant()) as read:
            await read.connection.execute("DELETE FROM categories")
