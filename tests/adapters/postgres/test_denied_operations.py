"""The audit trail of refusals while the database is away."""

import asyncpg

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.system import SystemClock
from application.denied_operations import DeniedOperations
from domain.entities.declaration import Registry
from domain.scope import Client
from tests.contracts.entities.test_writing import ADA


async def test_a_refusal_whose_line_could_not_be_written_gets_it_at_the_next_try(
    postgres: PostgresDatabase, database_url: str, registry: Registry, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=1)
    trail, client = DeniedOperations(database, SystemClock()), Client(address="192.0.2.1", network="192.0.2.1")
    await trail.note(ADA, "users.update", 403, client)  # it is not open yet
    await database.open()
    for _ in range(2):
        await trail.note(ADA, "users.update", 403, client)
    await database.close()
    assert await owner.fetchval("SELECT count(*) FROM audit_events WHERE action = 'users.update.refused'") == 1
