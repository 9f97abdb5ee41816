"""Deletions that ``restrict`` refuses: what refers to a row is named, as far as the caller may know of it.

Deletions that clear references: the rule of the row that changes is asked.

Rows that nothing refers to go with what they refer to, and come back with it: however many, in one statement.
"""

from collections.abc import AsyncIterator, Awaitable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated
from uuid import UUID

import pytest
from msgspec import Struct
from msgspec.structs import replace

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.entities.writing import Write
from application.ports.entities.records import Act, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import entity, ref
from domain.entities.query.query import WHOLE, View
from domain.entities.registry import build_registry
from domain.errors import Conflict, NotFound, PreconditionFailed, UnprocessableEntity
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.writing.test_writing import ADA, HERE, THERE, Desk

CLERK = replace(ADA, permissions=("delete:volumes", "purge:volumes"), is_super_admin=False)
UNNAMED = "Something still refers to it."


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


async def volumes(desk: Desk, scope: OneTenant = HERE) -> list[UUID]:
    """The first is referred to by nothing, the second by one mark, the third by three."""
    rows = [await desk.create("volumes", scope, title=f"{n}") for n in range(3)]
    for n, row in ((1, rows[1]), (2, rows[2]), (3, rows[2]), (4, rows[2])):
        await desk.create("marks", scope, text=f"m{n}", other_id=row.id)
    return [row.id for row in rows]


async def told(attempt: Awaitable[object]) -> tuple[str, list[tuple[str, str]]]:
    with pytest.raises(Conflict) as error:
        await attempt
    return error.value.message, [(wrong.field, wrong.message) for wrong in error.value.fields]


@pytest.mark.promise(
    "declarations, rows sent back: a single one names the entity and the count, to those who may read it"
)
async def test_a_single_deletion_names_the_entity_and_the_count(desk: Desk) -> None:
    _, second, third = await volumes(desk)
    model, write = desk.registry["volumes"], Write(caller=ADA, scope=HERE)
    for row_id, number in ((second, 1), (third, 3)):
        sentence = f"Rows still refer to it: marks ({number})."
        assert await told(desk.crud.delete(write, model, row_id, None)) == (sentence, [("id", sentence)])
        assert await told(desk.crud.purge(write, model, row_id, None)) == (sentence, [("id", sentence)])


@pytest.mark.promise(
    "declarations, rows sent back: a batch delete that restrict refuses names every item and what refers to it"
)
async def test_a_batch_names_every_item(desk: Desk) -> None:
    first, second, third = await volumes(desk)
    model, write = desk.registry["volumes"], Write(caller=ADA, scope=HERE)
    message, fields = await told(desk.batches.delete(write, model, [third, first, second]))
    assert message == UNNAMED
    assert fields == [
        ("ids[0]", "Rows still refer to it: marks (3)."),
        ("ids[2]", "Rows still refer to it: marks (1)."),
    ]
    message, fields = await told(desk.batches.delete(write, model, [first, second]))
    assert (message, [field for field, _ in fields]) == ("Rows still refer to it: marks (1).", ["ids[1]"])
    assert (await desk.batches.delete(write, model, [first])).answer == [first]


@pytest.mark.promise(
    "declarations, rows sent back: a single one names the entity and the count, to those who may read it"
)
async def test_a_refused_deletion_without_read_permission_names_neither_entity_nor_count(desk: Desk) -> None:
    _, second, third = await volumes(desk)
    model, write = desk.registry["volumes"], Write(caller=CLERK, scope=HERE)
    assert await told(desk.crud.delete(write, model, third, None)) == (UNNAMED, [("id", UNNAMED)])
    _, fields = await told(desk.batches.delete(write, model, [second, third]))
    assert fields == [("ids[0]", UNNAMED), ("ids[1]", UNNAMED)]


async def test_absent_rows_are_reported_before_references(desk: Desk) -> None:
    _, second, _ = await volumes(desk)
    foreign = (await volumes(desk, THERE))[1]
    model, write = desk.registry["volumes"], Write(caller=ADA, scope=HERE)
    with pytest.raises(NotFound) as error:
        await desk.batches.delete(write, model, [second, new_id(), foreign])
    assert [wrong.field for wrong in error.value.fields] == ["ids[1]", "ids[2]"]


async def test_a_restriction_on_a_cascaded_row_is_reported_for_the_named_row(desk: Desk) -> None:
    shelf = await desk.create("shelves", name="S")
    volume = await desk.create("volumes", title="V", shelf_id=shelf.id)
    await desk.create("marks", text="m", other_id=volume.id)
    model, write = desk.registry["shelves"], Write(caller=ADA, scope=HERE)
    assert (await told(desk.crud.delete(write, model, shelf.id, None)))[0] == "Rows still refer to it: marks (1)."


async def test_rows_that_no_cascade_reaches_are_counted_by_every_way_that_they_refer(
    database: WholeDatabase, registry: Registry
) -> None:
    """The server counts them: it would be asked for each of any number of rows otherwise."""
    desk = Desk(database, registry)
    first, second = [await desk.create("categories", name=name) for name in ("A", "B")]
    for n in range(5):
        category = (first, second)[n > 2]
        await desk.create("products", name="P", sku=f"SKU-{n}", price=Decimal(1), category_id=category.id)
    foreign = await desk.create("categories", THERE, name="C")
    await desk.create("products", THERE, name="P", sku="SKU-9", price=Decimal(1), category_id=foreign.id)
    model, write = registry["categories"], Write(caller=ADA, scope=HERE)
    _, fields = await told(desk.batches.delete(write, model, [second.id, first.id]))
    assert fields == [
        ("ids[0]", "Rows still refer to it: products (2)."),
        ("ids[1]", "Rows still refer to it: products (3)."),
    ]
    sentence = "Rows still refer to it: products (3)."
    assert await told(desk.crud.purge(write, model, first.id, None)) == (sentence, [("id", sentence)])
    blind = Write(caller=replace(CLERK, permissions=("delete:categories",)), scope=HERE)
    assert await told(desk.crud.delete(blind, model, first.id, None)) == (UNNAMED, [("id", UNNAMED)])


WRITE = Write(caller=ADA, scope=HERE)


@pytest.mark.promise(
    "declarations, references: clear asks the rule of the row that it changes, at a deletion and at one for good"
)
async def test_a_rule_refuses_the_deletion_that_would_clear_its_reference(desk: Desk) -> None:
    genres = desk.registry["genres"]
    genre = await desk.create("genres", name="Poems")
    await desk.create("volumes", title="A", code="bound", genre_id=genre.id)
    for attempt in (
        lambda: desk.writing.remove(WRITE, genres, [genre.id], None),
        lambda: desk.writing.purge(WRITE, genres, genre.id, None),
    ):
        with pytest.raises(UnprocessableEntity) as caught:
            await attempt()
        assert [error.field for error in caught.value.fields] == ["volumes.genreId"]
    async with desk.writing.database.read_only(HERE) as read:
        assert await read.records.get(genres, genre.id, WHOLE) is not None


@pytest.mark.promise(
    "declarations, references: clear asks the rule of the row that it changes, at a deletion and at one for good"
)
async def test_a_rule_that_has_nothing_against_it_lets_it_be_cleared(desk: Desk) -> None:
    genre, other = await desk.create("genres", name="Poems"), await desk.create("genres", name="Plays")
    volume = await desk.create("volumes", title="A", code="free", genre_id=genre.id)
    await desk.create("volumes", title="B", code="bound", genre_id=other.id)
    await desk.writing.remove(WRITE, desk.registry["genres"], [genre.id], None)
    async with desk.writing.database.transaction(HERE) as tx:
        found = await tx.records.current(desk.registry["volumes"], [volume.id])
    assert found[volume.id].values["genre_id"] is None


@pytest.mark.promise(
    "declarations, references: clear asks the rule of the row that it changes, at a deletion and at one for good"
)
async def test_a_deleted_row_is_not_asked(desk: Desk) -> None:
    genre = await desk.create("genres", name="Poems")
    volume = await desk.create("volumes", title="A", code="bound", genre_id=genre.id)
    await desk.writing.remove(WRITE, desk.registry["volumes"], [volume.id], None)
    await desk.writing.remove(WRITE, desk.registry["genres"], [genre.id], None)


HERE_OF_ROWS_TAKEN_ALONG, THERE_OF_ROWS_TAKEN_ALONG = OneTenant(new_id()), OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)
DELETED = View(include_deleted=True)


@entity("climates", tenant_owned=False)
class Climate(Struct, rename="camel", kw_only=True):
    name: str


@entity("parks")
class Park(Struct, rename="camel", kw_only=True):
    name: str


@entity("trees", history=True)
class Tree(Struct, rename="camel", kw_only=True):
    name: str
    park_id: Annotated[UUID | None, ref("parks", on_delete="cascade")] = None
    climate_id: Annotated[UUID | None, ref("climates", on_delete="cascade")] = None


@entity("tickets", soft_delete=False, history=True)
class Ticket(Struct, rename="camel", kw_only=True):
    name: str
    park_id: Annotated[UUID, ref("parks", on_delete="cascade", permanent=True)]


PARKS = build_registry([*ENTITIES, *BUILTIN_ENTITIES, Climate, Park, Tree, Ticket])


class Parks:
    """Calls on records, each in a transaction of its own."""

    def __init__(self, database: WholeDatabase) -> None:
        self.database = database

    async def add(self, plural: str, scope: OneTenant = HERE_OF_ROWS_TAKEN_ALONG, **values: object) -> UUID:
        row = NewRow(new_id(), {**{field.name: None for field in PARKS[plural].declared}, "name": "x", **values})
        async with self.database.transaction(scope) as tx:
            await tx.records.add(PARKS[plural], [row], ACT)
        return row.id

    async def remove(self, plural: str, *ids: UUID) -> list[UUID]:
        async with self.database.transaction(HERE_OF_ROWS_TAKEN_ALONG) as tx:
            return await tx.records.remove(PARKS[plural], ids, ACT, None)

    async def restore(self, plural: str, row_id: UUID) -> tuple[tuple[str, tuple[UUID, ...]], ...]:
        async with self.database.transaction(HERE_OF_ROWS_TAKEN_ALONG) as tx:
            return (await tx.records.restore(PARKS[plural], row_id, ACT)).along

    async def purge(self, plural: str, row_id: UUID) -> None:
        async with self.database.transaction(HERE_OF_ROWS_TAKEN_ALONG) as tx:
            await tx.records.purge(PARKS[plural], [row_id], ACT, None)

    async def living(self, plural: str, ids: Sequence[UUID]) -> list[bool]:
        async with self.database.read_only(EveryTenant()) as read:
            return [await read.records.get(PARKS[plural], row_id, WHOLE) is not None for row_id in ids]

    async def stored(self, plural: str, ids: Sequence[UUID]) -> list[bool]:
        async with self.database.read_only(EveryTenant()) as read:
            return [await read.records.get(PARKS[plural], row_id, DELETED) is not None for row_id in ids]

    async def lines(self, plural: str, row_id: UUID) -> list[str]:
        """What the row's history says, from the first line on."""
        async with self.database.read_only(HERE_OF_ROWS_TAKEN_ALONG) as read:
            entries, _ = await read.history.page(PARKS[plural], row_id, 0, 100)
        return [entry.action for entry in reversed(entries)]


@pytest.fixture(scope="module")
async def park_database(
    empty_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[WholeDatabase]:
    """A database made by the migration that is generated from the entities."""
    folder: Path = tmp_path_factory.mktemp("parks")
    url = await empty_database()
    assert await write_migration(url, PARKS, "parks", (VERSIONS, folder)) is not None
    assert await upgrade(url, PARKS, (VERSIONS, folder)) == []
    database = PostgresDatabase(url, PARKS, CountingIds())
    await database.open()
    yield database
    await database.close()


@pytest.fixture(params=["memory", "park_database"])
def parks(request: pytest.FixtureRequest) -> Parks:
    if request.param == "memory":
        return Parks(MemoryDatabase(PARKS, CountingIds()))
    return Parks(request.getfixturevalue(request.param))


async def test_a_row_is_deleted_and_restored_with_the_row_that_it_refers_to(parks: Parks) -> None:
    first, second, other = [await parks.add("parks") for _ in range(3)]
    trees = [await parks.add("trees", park_id=park) for park in (first, first, second, other)]
    alone = await parks.add("trees", park_id=first)
    await parks.remove("trees", alone)
    assert await parks.remove("parks", first, second) == [first, second]
    assert await parks.living("trees", trees) == [False, False, False, True]
    ((plural, along),) = await parks.restore("parks", first)
    assert (plural, sorted(along)) == ("trees", sorted(trees[:2]))
    # what was deleted before, by itself, stays deleted
    assert await parks.living("trees", [*trees, alone]) == [True, True, False, True, False]
    assert await parks.lines("trees", trees[0]) == ["created", "deleted", "restored"]
    assert await parks.lines("trees", trees[2]) == ["created", "deleted"]


async def test_rows_that_are_not_marked_go_for_good_with_one_that_is(parks: Parks) -> None:
    park, other = await parks.add("parks"), await parks.add("parks")
    tickets = [await parks.add("tickets", park_id=each) for each in (park, park, other)]
    await parks.remove("parks", park)
    assert await parks.stored("tickets", tickets) == [False, False, True]
    assert await parks.lines("tickets", tickets[0]) == ["created", "purged"]
    assert await parks.restore("parks", park) == ()


async def test_purging_a_row_also_purges_its_dependents_that_were_deleted_before(parks: Parks) -> None:
    park, other = await parks.add("parks"), await parks.add("parks")
    trees = [await parks.add("trees", park_id=each) for each in (park, park, other)]
    tickets = [await parks.add("tickets", park_id=each) for each in (park, other)]
    await parks.remove("trees", trees[0])
    await parks.purge("parks", park)
    assert await parks.stored("trees", trees) == [False, False, True]
    assert await parks.stored("tickets", tickets) == [False, True]
    assert await parks.lines("trees", trees[0]) == ["created", "deleted", "purged"]


@pytest.mark.parametrize("is_final", [False, True])
async def test_rows_of_every_tenant_go_with_one_that_all_share(parks: Parks, is_final: bool) -> None:
    climate, other = await parks.add("climates"), await parks.add("climates")
    trees = [
        await parks.add("trees", scope, climate_id=each)
        for scope, each in (
            (HERE_OF_ROWS_TAKEN_ALONG, climate),
            (THERE_OF_ROWS_TAKEN_ALONG, climate),
            (THERE_OF_ROWS_TAKEN_ALONG, other),
        )
    ]
    if is_final:
        await parks.purge("climates", climate)
        assert await parks.stored("trees", trees) == [False, False, True]
        return
    await parks.remove("climates", climate)
    assert await parks.living("trees", trees) == [False, False, True]
    along = await parks.restore("climates", climate)
    assert sorted(row_id for _, ids in along for row_id in ids) == sorted(trees[:2])
    assert await parks.living("trees", trees) == [True] * 3


async def test_a_refused_deletion_deletes_no_dependents(parks: Parks) -> None:
    """A version that is not the stored one refuses, and so does a row that is not there."""
    park = await parks.add("parks")
    tree = await parks.add("trees", park_id=park)
    with pytest.raises(PreconditionFailed):
        async with parks.database.transaction(HERE_OF_ROWS_TAKEN_ALONG) as tx:
            await tx.records.remove(PARKS["parks"], [park], ACT, 7)
    assert await parks.remove("parks", new_id()) == []
    assert await parks.living("trees", [tree]) == [True]
