"""Records of two entities that refer to each other: deleting, restoring and purging end."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated
from uuid import UUID

import pytest
from msgspec import Struct

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.writing.removal_statements import count_referring
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.records import Act, Change, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.markers import entity, ref
from domain.entities.query.query import WHOLE, View
from domain.entities.registry import build_registry
from domain.errors import Conflict, Referrer, StillReferredTo
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase

HERE = OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)


@entity("hens")
class Hen(Struct, rename="camel", kw_only=True):
    name: str
    egg_id: Annotated[UUID | None, ref("eggs", on_delete="cascade")] = None


@entity("eggs")
class Egg(Struct, rename="camel", kw_only=True):
    name: str
    hen_id: Annotated[UUID | None, ref("hens", on_delete="cascade")] = None


@entity("knots")
class Knot(Struct, rename="camel", kw_only=True):
    name: str
    self_id: Annotated[UUID | None, ref("knots", relation="itself")] = None


@entity("stages")
class Stage(Struct, rename="camel", kw_only=True):
    name: str
    before_id: Annotated[UUID | None, ref("stages", on_delete="cascade")] = None


@entity("actors")
class Actor(Struct, rename="camel", kw_only=True):
    name: str
    stage_id: Annotated[UUID | None, ref("stages")] = None
    other_id: Annotated[UUID | None, ref("stages", on_delete="clear")] = None


RINGS = build_registry([*ENTITIES, *BUILTIN_ENTITIES, Hen, Egg, Knot, Stage, Actor])


class Rings:
    def __init__(self, database: WholeDatabase) -> None:
        self.database = database

    async def add(self, plural: str, **values: object) -> UUID:
        model = RINGS[plural]
        row = NewRow(new_id(), {**{field.name: None for field in model.declared}, "name": "x", **values})
        async with self.database.transaction(HERE) as tx:
            await tx.records.add(model, [row], ACT)
        return row.id

    async def change(self, plural: str, row_id: UUID, **values: object) -> None:
        async with self.database.transaction(HERE) as tx:
            await tx.records.change(RINGS[plural], [Change(row_id, values)], ACT)

    async def remove(self, plural: str, row_id: UUID) -> None:
        async with self.database.transaction(HERE) as tx:
            await tx.records.remove(RINGS[plural], [row_id], ACT, None)

    async def restore(self, plural: str, row_id: UUID) -> None:
        async with self.database.transaction(HERE) as tx:
            await tx.records.restore(RINGS[plural], row_id, ACT)

    async def purge(self, plural: str, row_id: UUID) -> None:
        async with self.database.transaction(HERE) as tx:
            await tx.records.purge(RINGS[plural], [row_id], ACT, None)

    async def there(self, plural: str, row_id: UUID, view: View = WHOLE) -> bool:
        async with self.database.read_only(HERE) as read:
            return await read.records.get(RINGS[plural], row_id, view) is not None

    async def ring(self) -> tuple[UUID, UUID, UUID]:
        """A hen and an egg that refer to each other, and a second egg that refers to the hen."""
        hen = await self.add("hens")
        egg = await self.add("eggs", hen_id=hen)
        await self.change("hens", hen, egg_id=egg)
        return hen, egg, await self.add("eggs", hen_id=hen)


@pytest.fixture(scope="module")
async def ring_database(
    empty_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[WholeDatabase]:
    """A database made by the migration that is generated from the entities."""
    folder: Path = tmp_path_factory.mktemp("rings")
    url = await empty_database()
    assert await write_migration(url, RINGS, "rings", (VERSIONS, folder)) is not None
    assert await upgrade(url, RINGS, (VERSIONS, folder)) == []
    database = PostgresDatabase(url, RINGS, CountingIds())
    await database.open()
    yield database
    await database.close()


@pytest.fixture(params=["memory", "ring_database"])
def rings(request: pytest.FixtureRequest) -> Rings:
    if request.param == "memory":
        return Rings(MemoryDatabase(RINGS, CountingIds()))
    return Rings(request.getfixturevalue(request.param))


@pytest.mark.promise("entities, details: cascade, restored together, also in cycles of entities")
async def test_a_whole_reference_cycle_is_deleted_and_restored(rings: Rings) -> None:
    hen, egg, other = await rings.ring()
    await rings.remove("eggs", egg)
    assert [await rings.there(*place) for place in (("hens", hen), ("eggs", egg), ("eggs", other))] == [False] * 3
    await rings.restore("eggs", egg)
    assert [await rings.there(*place) for place in (("hens", hen), ("eggs", egg), ("eggs", other))] == [True] * 3


@pytest.mark.promise("entities, details: cascade, restored together, also in cycles of entities")
async def test_a_ring_goes_for_good(rings: Rings) -> None:
    """No order of deletions satisfies the foreign keys one by one, so they are deferred to the end."""
    hen, egg, other = await rings.ring()
    await rings.remove("hens", hen)
    await rings.purge("hens", hen)
    deleted = View(include_deleted=True)
    assert [await rings.there(*place, deleted) for place in (("hens", hen), ("eggs", egg), ("eggs", other))] == [
        False
    ] * 3


async def test_a_row_that_references_itself_can_be_deleted(rings: Rings) -> None:
    knot = await rings.add("knots")
    await rings.change("knots", knot, self_id=knot)
    await rings.remove("knots", knot)
    assert not await rings.there("knots", knot)
    await rings.restore("knots", knot)
    await rings.purge("knots", knot)
    assert not await rings.there("knots", knot, View(include_deleted=True))


async def test_who_is_referred_to_by_another_stays(rings: Rings) -> None:
    knot = await rings.add("knots")
    await rings.add("knots", self_id=knot)
    with pytest.raises(Conflict):
        await rings.remove("knots", knot)
    assert await rings.there("knots", knot)


async def test_a_chain_of_references_of_any_length_is_deleted_and_restored(rings: Rings) -> None:
    """One row refers to the next: as many as Python's stack could not hold as calls."""
    first = last = await rings.add("stages")
    model = RINGS["stages"]
    async with rings.database.transaction(HERE) as tx:
        for _ in range(sys.getrecursionlimit()):
            row = NewRow(new_id(), {"name": "x", "before_id": last})
            await tx.records.add(model, [row], ACT)
            last = row.id
    await rings.remove("stages", first)
    assert not await rings.there("stages", last)
    await rings.restore("stages", first)
    assert await rings.there("stages", last)
    await rings.purge("stages", first)
    assert not await rings.there("stages", last, View(include_deleted=True))


async def chain(rings: Rings, length: int) -> list[UUID]:
    """Stages of which each is deleted with the one before it."""
    ids = [new_id() for _ in range(length)]
    rows = [
        NewRow(row_id, {"name": "x", "before_id": before}) for row_id, before in zip(ids, [None, *ids], strict=False)
    ]
    async with rings.database.transaction(HERE) as tx:
        for row in rows:
            await tx.records.add(RINGS["stages"], [row], ACT)
    return ids


@pytest.mark.parametrize("length", [2, 30, 300])
async def test_a_row_that_refers_to_the_end_of_a_chain_restricts_the_deletion_of_its_beginning(
    rings: Rings, length: int
) -> None:
    ids = await chain(rings, length)
    actor, other = await rings.add("actors", stage_id=ids[-1]), await rings.add("actors", other_id=ids[-1])
    with pytest.raises(StillReferredTo) as error:
        await rings.remove("stages", ids[0])
    assert error.value.by == {ids[0]: {Referrer("actors", ("stage_id",), 1)}}
    assert await rings.there("stages", ids[-1])
    await rings.remove("actors", actor)
    await rings.remove("stages", ids[0])
    assert not await rings.there("stages", ids[-1])
    assert await rings.there("actors", other)


async def test_a_longer_chain_needs_no_longer_statement(ring_database: WholeDatabase) -> None:
    """A statement for each length would be compiled for each, and take more parameters than PostgreSQL has."""
    rings, compiled = Rings(ring_database), set()
    for length in (2, 3, 20, 50):
        ids = await chain(rings, length)
        await rings.remove("stages", ids[0])
        compiled.add(count_referring.cache_info().currsize)
    assert len(compiled) == 1
