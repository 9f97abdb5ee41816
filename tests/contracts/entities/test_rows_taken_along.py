"""Rows that nothing refers to go with what they refer to, and come back with it: however many, in one statement."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Annotated
from uuid import UUID

import pytest
from msgspec import Struct

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.records import Act, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.markers import entity, ref
from domain.entities.query.query import WHOLE, View
from domain.entities.registry import build_registry
from domain.errors import PreconditionFailed
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
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

    async def add(self, plural: str, scope: OneTenant = HERE, **values: object) -> UUID:
        row = NewRow(new_id(), {**{field.name: None for field in PARKS[plural].declared}, "name": "x", **values})
        async with self.database.transaction(scope) as tx:
            await tx.records.add(PARKS[plural], [row], ACT)
        return row.id

    async def remove(self, plural: str, *ids: UUID) -> list[UUID]:
        async with self.database.transaction(HERE) as tx:
            return await tx.records.remove(PARKS[plural], ids, ACT, None)

    async def restore(self, plural: str, row_id: UUID) -> tuple[tuple[str, tuple[UUID, ...]], ...]:
        async with self.database.transaction(HERE) as tx:
            return (await tx.records.restore(PARKS[plural], row_id, ACT)).along

    async def purge(self, plural: str, row_id: UUID) -> None:
        async with self.database.transaction(HERE) as tx:
            await tx.records.purge(PARKS[plural], [row_id], ACT, None)

    async def living(self, plural: str, ids: Sequence[UUID]) -> list[bool]:
        async with self.database.read_only(EveryTenant()) as read:
            return [await read.records.get(PARKS[plural], row_id, WHOLE) is not None for row_id in ids]

    async def stored(self, plural: str, ids: Sequence[UUID]) -> list[bool]:
        async with self.database.read_only(EveryTenant()) as read:
            return [await read.records.get(PARKS[plural], row_id, DELETED) is not None for row_id in ids]

    async def lines(self, plural: str, row_id: UUID) -> list[str]:
        """What the row's history says, from the first line on."""
        async with self.database.read_only(HERE) as read:
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


async def test_each_row_goes_and_comes_back_with_the_row_that_it_refers_to(parks: Parks) -> None:
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


async def test_for_good_goes_what_was_deleted_before_as_well(parks: Parks) -> None:
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
        for scope, each in ((HERE, climate), (THERE, climate), (THERE, other))
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


async def test_a_refused_deletion_takes_nothing_along(parks: Parks) -> None:
    """A version that is not the stored one refuses, and so does a row that is not there."""
    park = await parks.add("parks")
    tree = await parks.add("trees", park_id=park)
    with pytest.raises(PreconditionFailed):
        async with parks.database.transaction(HERE) as tx:
            await tx.records.remove(PARKS["parks"], [park], ACT, 7)
    assert await parks.remove("parks", new_id()) == []
    assert await parks.living("trees", [tree]) == [True]
