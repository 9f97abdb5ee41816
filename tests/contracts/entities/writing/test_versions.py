"""Each version of a row has one line in its history, whoever writes at the same time: no index says so.

``Rows`` of entities with ``writable=False``: a project writes what the routes only read, on both adapters.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Annotated, Any
from uuid import UUID

import pytest
from msgspec import Struct

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.entities.guarded_fields import GuardedFields
from application.entities.own_rows import EntityAccess, Rows, RowsRequest
from application.entities.writing import Write
from application.ports.entities.records import Change, Versions
from application.ports.whole_database import WholeDatabase
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import entity, ref, unique
from domain.entities.registry import build_registry
from domain.errors import Conflict, NotFound, PreconditionFailed, UnprocessableEntity, ValidationError
from domain.scope import Caller
from tenantry import FieldError, Operator, where
from tests.conftest import NewDatabase
from tests.contracts.entities.writing.test_writing import ADA, HERE, Desk

WRITE = Write(caller=ADA, scope=HERE)
Lines = list[tuple[int, str]]


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


async def lines(library: WholeDatabase, desk: Desk, row: UUID) -> Lines:
    async with library.read_only(HERE) as read:
        entries, total = await read.history.page(desk.registry["volumes"], row, 0, 500)
    assert total == len(entries)
    return [(entry.version, entry.action) for entry in entries]


def versions(found: Lines) -> list[int]:
    return [version for version, _ in found]


async def refused(writes: Sequence[Coroutine[Any, Any, object]]) -> int:
    """Writes all at once, and tells how many lost against another one."""
    answers = await asyncio.gather(*writes, return_exceptions=True)
    errors = [answer for answer in answers if isinstance(answer, BaseException)]
    assert all(isinstance(error, Conflict | NotFound | PreconditionFailed) for error in errors), errors
    return len(errors)


@pytest.mark.promise("security, audit trail: each version of a row has one line, whoever writes at the same time")
async def test_changes_at_the_same_time_make_a_line_for_each_version(library: WholeDatabase, desk: Desk) -> None:
    volumes = desk.registry["volumes"]
    first, second = [(await desk.create("volumes", title=title)).id for title in "AB"]
    singly = [
        desk.crud.update(WRITE, volumes, Change(row, {"title": f"T {n}"})) for n in range(4) for row in (first, second)
    ]
    together = [
        desk.batches.update(WRITE, volumes, [Change(row, {"title": f"U {n}"}) for row in order])
        for n in range(2)
        for order in ((first, second), (second, first))
    ]
    assert await refused([*singly, *together]) == 0
    for row in (first, second):
        assert versions(await lines(library, desk, row)) == list(range(9, 0, -1))


@pytest.mark.promise("security, audit trail: each version of a row has one line, whoever writes at the same time")
async def test_concurrent_changes_of_one_version_write_one_history_entry(library: WholeDatabase, desk: Desk) -> None:
    volumes = desk.registry["volumes"]
    row = (await desk.create("volumes", title="T")).id
    writes = [desk.crud.update(WRITE, volumes, Change(row, {"title": f"T {n}"}, version=1)) for n in range(8)]
    assert await refused(writes) == 7
    assert await lines(library, desk, row) == [(2, "changed"), (1, "created")]


@pytest.mark.promise("security, audit trail: each version of a row has one line, whoever writes at the same time")
async def test_deletions_and_restorations_at_the_same_time_make_a_line_for_each_version(
    library: WholeDatabase, desk: Desk
) -> None:
    volumes = desk.registry["volumes"]
    row = (await desk.create("volumes", title="T")).id
    for _ in range(3):
        await refused([desk.crud.delete(WRITE, volumes, row, None) for _ in range(4)])
        await refused([desk.crud.restore(WRITE, volumes, row, None) for _ in range(4)])
    turns = [(version, "restored" if version % 2 else "deleted") for version in range(7, 1, -1)]
    assert await lines(library, desk, row) == [*turns, (1, "created")]


@pytest.mark.promise("security, audit trail: each version of a row has one line, whoever writes at the same time")
async def test_concurrent_purges_write_one_history_entry(library: WholeDatabase, desk: Desk) -> None:
    volumes = desk.registry["volumes"]
    row = (await desk.create("volumes", title="T")).id
    assert await refused([desk.crud.purge(WRITE, volumes, row, None) for _ in range(4)]) == 3
    assert await lines(library, desk, row) == [(2, "purged"), (1, "created")]


@entity("stations", writable=False, sort="name", unique=[unique("name")])
class Station(Struct, rename="camel", kw_only=True):
    name: str
    next_id: Annotated[UUID | None, ref("stations", on_delete="clear")] = None
    line_id: Annotated[UUID | None, ref("stations", on_delete="cascade", permanent=True)] = None

    def check(self, before: "Station | None") -> Any:
        if self.name == "Nowhere":
            yield FieldError("name", "is no place")


@entity("distances", writable=False, soft_delete=False, tenant_owned=False, sort="metres")
class Distance(Struct, rename="camel", kw_only=True):
    metres: int
    words: list[str] = []


REGISTRY = build_registry([*BUILTIN_ENTITIES, *ENTITIES, Station, Distance])


class Asking(RowsRequest):
    """A request of Ada's, without an idempotency key."""

    caller: Caller = ADA
    tenant_scope = HERE

    def wanted_versions(self) -> Versions:
        return None

    async def next_write(self) -> Write:
        return Write(caller=ADA, scope=HERE)


@pytest.fixture(scope="module")
async def open_stations(
    new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PostgresDatabase]:
    url, folders = await new_database(), [VERSIONS, tmp_path_factory.mktemp("migrations")]
    await write_migration(url, REGISTRY, "stations", folders)
    await upgrade(url, REGISTRY, folders)
    database = PostgresDatabase(url, REGISTRY, CountingIds())
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def postgres_stations(open_stations: PostgresDatabase) -> AsyncIterator[PostgresDatabase]:
    yield open_stations
    async with open_stations.transaction(HERE) as tx:
        await tx.connection.execute("DELETE FROM stations")
        await tx.connection.execute("DELETE FROM distances")


@pytest.fixture
def memory_stations() -> MemoryDatabase:
    return MemoryDatabase(REGISTRY, CountingIds())


@pytest.fixture(params=["memory", "postgres"])
def database(request: pytest.FixtureRequest) -> WholeDatabase:
    adapter: WholeDatabase = request.getfixturevalue(f"{request.param}_stations")
    return adapter


def rows_of(database: WholeDatabase, plural: str) -> Rows[Any]:
    desk, model = Desk(database, REGISTRY), REGISTRY[plural]
    return Rows(EntityAccess(model, desk.crud, desk.batches, GuardedFields(model, REGISTRY)), Asking())


async def test_a_row_is_created_changed_and_removed(database: WholeDatabase) -> None:
    stations = rows_of(database, "stations")
    made = await stations.create({"name": "North"})
    assert (made.version, made.value) == (0, Station(name="North"))
    assert await stations.get(made.id) == made
    changed = await stations.update(made.id, {"name": "South"})
    assert (changed.version, changed.value.name) == (0, "South")
    assert (await stations.update(made.id, {})).value.name == "South"
    assert (await stations.update(made.id, {"name": "West"}, version=0)).value.name == "West"
    with pytest.raises(PreconditionFailed):
        await stations.update(made.id, {"name": "East"}, version=1)
    with pytest.raises(PreconditionFailed):
        await stations.delete(made.id, version=1)
    with pytest.raises(Conflict):
        await stations.restore(made.id)
    await stations.delete(made.id)
    for attempt in (stations.get(made.id), stations.delete(made.id), stations.update(made.id, {"name": "E"})):
        with pytest.raises(NotFound):
            await attempt
    with pytest.raises(NotFound):
        await stations.restore(made.id)


async def test_several_rows_are_written_at_once(database: WholeDatabase) -> None:
    stations = rows_of(database, "stations")
    first, second = await stations.create_many([{"name": "A"}, {"name": "B", "next_id": None}])
    swapped = await stations.update_many({first.id: {"name": "B"}, second.id: {"name": "A", "next_id": first.id}})
    assert [(row.version, row.value.name) for row in swapped] == [(0, "B"), (0, "A")]
    same = await stations.update_many({first.id: {}, second.id: {}})
    assert [row.value for row in same] == [row.value for row in swapped]
    partly = await stations.update_many({first.id: {}, second.id: {"name": "C"}})
    assert [row.value.name for row in partly] == ["B", "C"]
    page = await stations.page(where("name", Operator.IN, ("B", "C")), sort=["-name"])
    assert [(row.version, row.value.name) for row in page.items] == [(0, "C"), (0, "B")]
    await stations.delete_many([first.id, second.id])
    assert (await stations.page()).total == 0


async def test_constraints_rules_and_references_hold(database: WholeDatabase) -> None:
    stations = rows_of(database, "stations")
    first, second, third = await stations.create_many([{"name": "A"}, {"name": "B"}, {"name": "C"}])
    with pytest.raises(Conflict):
        await stations.create({"name": "A"})
    with pytest.raises(UnprocessableEntity):
        await stations.update(first.id, {"name": "Nowhere"})
    with pytest.raises(ValidationError):
        await stations.update(first.id, {"next_id": UUID(int=0)})
    await stations.update_many({second.id: {"next_id": first.id}, third.id: {"line_id": first.id}})
    await stations.delete(first.id)
    assert (await stations.get(second.id)).value == Station(name="B")
    with pytest.raises(NotFound):
        await stations.get(third.id)


async def test_rows_that_all_tenants_share_are_written_too(database: WholeDatabase) -> None:
    distances = rows_of(database, "distances")
    made = await distances.create({"metres": 5, "words": ["a", "b"]})
    changed = await distances.update_many({made.id: {"metres": 6}})
    assert [(row.version, row.value) for row in changed] == [(0, Distance(metres=6, words=["a", "b"]))]
    await distances.delete_many([made.id])
    assert (await distances.page()).total == 0
