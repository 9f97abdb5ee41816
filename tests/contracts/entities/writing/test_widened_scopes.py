"""Acts on rows of all tenants see every tenant's rows for the moment: a refusal that is caught leaves nothing open."""

from uuid import UUID

import pytest

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.database import PostgresDatabase
from application.ports.entities.records import Act
from domain.entities.declaration import Registry
from domain.errors import Conflict, StillReferredTo
from tests.builders import NOW, new_id
from tests.contracts.entities.writing.test_writing import HERE, THERE, Desk

ACT = Act(by=new_id(), at=NOW)


async def tenants_seen(connection: ServiceConnection) -> set[UUID]:
    return {row["tenant_id"] for row in await connection.fetch("SELECT tenant_id FROM picks")}


@pytest.fixture
async def desk(postgres_library: PostgresDatabase, library_registry: Registry) -> Desk:
    return Desk(postgres_library, library_registry)


@pytest.mark.parametrize("act", ["remove", "purge"])
async def test_a_refused_deletion_leaves_the_scope_of_the_transaction(
    desk: Desk, postgres_library: PostgresDatabase, act: str
) -> None:
    genres, genre = desk.registry["genres"], await desk.create("genres", name="G")
    for scope in (HERE, THERE):
        await desk.create("picks", scope, genre_id=genre.id)
    async with postgres_library.transaction(HERE) as tx:
        with pytest.raises(StillReferredTo):
            await getattr(tx.records, act)(genres, [genre.id], ACT, None)
        assert await tenants_seen(tx.connection) == {HERE.id}


async def test_a_refused_restoration_leaves_the_scope_of_the_transaction(
    desk: Desk, postgres_library: PostgresDatabase
) -> None:
    genres, kept = desk.registry["genres"], await desk.create("genres", name="K")
    for scope in (HERE, THERE):
        await desk.create("picks", scope, genre_id=kept.id)
    gone = await desk.create("genres", name="G")
    async with postgres_library.transaction(HERE) as tx:
        await tx.records.remove(genres, [gone.id], ACT, None)
    await desk.create("genres", name="G")
    async with postgres_library.transaction(HERE) as tx:
        with pytest.raises(Conflict):
            await tx.records.restore(genres, gone.id, ACT)
        assert await tenants_seen(tx.connection) == {HERE.id}


async def test_a_scope_that_was_widened_is_narrowed_after_any_error(postgres_library: PostgresDatabase) -> None:
    shown, seen = "SELECT current_setting('tenantry.scope')", list[str]()

    async def fail(connection: ServiceConnection) -> None:
        async with connection.widened(HERE):
            seen.append(await connection.fetchval(shown))
            raise ZeroDivisionError

    async with postgres_library.transaction(HERE) as tx:
        with pytest.raises(ZeroDivisionError):
            await fail(tx.connection)
        assert [*seen, await tx.connection.fetchval(shown)] == ["every", str(HERE.id)]
