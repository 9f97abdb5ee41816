"""Restored rows: their rules are asked again, and those of the rows that come back with them."""

import asyncio
from datetime import date
from functools import partial

import pytest

from adapters.postgres.database import PostgresDatabase
from application.entities.writing import IdempotencyKey, Write
from application.ports.entities.records import Act, Stored
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import WHOLE
from domain.errors import UnprocessableEntity
from tests.builders import NOW, caller, new_id
from tests.contracts.entities.writing.test_writing import ADA, HERE, Desk
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import until

WRITE = Write(caller=ADA, scope=HERE)
DAY = date(2026, 5, 1)


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


async def refused(desk: Desk, plural: str, row: Stored, write: Write = WRITE) -> list[tuple[str, str]]:
    """Fields and messages of the refusal to restore the row, which stays deleted."""
    model = desk.registry[plural]
    with pytest.raises(UnprocessableEntity) as caught:
        await desk.crud.restore(write, model, row.id, None)
    async with desk.writing.database.read_only(HERE) as read:
        assert await read.records.get(model, row.id, WHOLE) is None
    return [(error.field, error.message) for error in caught.value.fields]


async def test_a_rule_refuses_to_restore_a_row_with_a_value_used_meanwhile(desk: Desk) -> None:
    visits = desk.registry["visits"]
    volume = await desk.create("volumes", title="A")
    first = await desk.create("visits", volume_id=volume.id, day=DAY)
    await desk.crud.delete(WRITE, visits, first.id, None)
    second = await desk.create("visits", volume_id=volume.id, day=DAY)
    assert await refused(desk, "visits", first) == [("day", "is taken meanwhile")]
    await desk.crud.delete(WRITE, visits, second.id, None)
    assert (await desk.crud.restore(WRITE, visits, first.id, None)).answer.version == 3


async def test_a_rule_on_the_row_refuses_a_restoration_with_a_cleared_reference(desk: Desk) -> None:
    genre = await desk.create("genres", name="Poems")
    volume = await desk.create("volumes", title="A", code="bound", genre_id=genre.id)
    await desk.crud.delete(WRITE, desk.registry["volumes"], volume.id, None)
    await desk.crud.purge(WRITE, desk.registry["genres"], genre.id, None)
    assert await refused(desk, "volumes", volume) == [("genreId", "what is bound keeps its genre")]


async def test_rules_of_dependents_can_refuse_a_restoration(desk: Desk) -> None:
    genre = await desk.create("genres", name="Poems")
    shelf = await desk.create("shelves", name="A")
    inner = await desk.create("shelves", name="B", inside_id=shelf.id)
    await desk.create("volumes", title="A", code="bound", genre_id=genre.id, shelf_id=inner.id)
    await desk.crud.delete(WRITE, desk.registry["shelves"], shelf.id, None)
    await desk.crud.purge(WRITE, desk.registry["genres"], genre.id, None)
    assert await refused(desk, "shelves", shelf) == [("volumes.genreId", "what is bound keeps its genre")]
    blind = Write(caller=caller(tenant_id=HERE.id, permissions=("delete:shelves",)), scope=HERE)
    assert await refused(desk, "shelves", shelf, blind) == []


async def test_a_restoration_allowed_by_rules_is_replayed_by_its_idempotency_key(desk: Desk) -> None:
    shelf = await desk.create("shelves", name="A")
    volume = await desk.create("volumes", title="A", shelf_id=shelf.id)
    await desk.create("visits", volume_id=volume.id, day=DAY)
    await desk.crud.delete(WRITE, desk.registry["shelves"], shelf.id, None)
    keyed = Write(caller=ADA, scope=HERE, idempotency_key=IdempotencyKey("k", "f"))
    restored = await desk.crud.restore(keyed, desk.registry["shelves"], shelf.id, None)
    repeated = await desk.crud.restore(keyed, desk.registry["shelves"], shelf.id, None)
    assert repeated == type(restored)(restored.answer, True)
    async with desk.writing.database.read_only(HERE) as read:
        assert await read.records.get(desk.registry["volumes"], volume.id, WHOLE) is not None


async def test_a_second_row_that_is_restored_waits_for_the_first_and_is_counted_with_it(
    postgres_library: PostgresDatabase, library_registry: Registry
) -> None:
    desk, seats = Desk(postgres_library, library_registry), library_registry["seats"]
    shelf = await desk.create("shelves", name="A")
    first, second = [await desk.create("seats", code=code, shelf_id=shelf.id) for code in "AB"]
    await desk.batches.delete(WRITE, seats, [first.id, second.id])
    await desk.create("seats", code="C", shelf_id=shelf.id)
    async with postgres_library.transaction(HERE) as tx:
        await tx.records.restore(seats, first.id, Act(by=new_id(), at=NOW))
        restoring = asyncio.create_task(refused(desk, "seats", second))
        await until(partial(tx.connection.fetchval, SOMEBODY_WAITS))
    assert await restoring == [("shelfId", "is full meanwhile")]
