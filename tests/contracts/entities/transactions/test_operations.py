"""Operations on rows of several entities: order, final state, failures, repetition and concurrency."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.transaction import PostgresTransaction
from application.ports.whole_database import WholeDatabase
from application.retry import TRIES
from domain.entities.declaration import Registry
from domain.errors import (
    Conflict,
    NotFound,
    PreconditionFailed,
    SerializationConflict,
    UnprocessableEntity,
    ValidationError,
)
from domain.scope import EveryTenant, Scope
from tests.builders import caller, new_id
from tests.contracts.entities.transactions.counter import Counter, change, create, delete, restore, the
from tests.contracts.entities.writing.test_writing import HERE, Faltering

DAY = str(date(2026, 11, 20))


@pytest.fixture
def counter(library: WholeDatabase, library_registry: Registry) -> Counter:
    return Counter(library, library_registry)


async def test_operations_run_in_order_and_name_earlier_creates(counter: Counter) -> None:
    results = await counter.apply(
        create("shelves", "s", name="S"),
        create("volumes", "v", title="T", shelfId=the("s")),
        create("marks", text="A", volumeId=the("v")),
        create("marks", text="B", volumeId=the("v")),
        change("volumes", the("v"), 1, title="U"),
        delete("shelves", the("s")),
        restore("shelves", the("s")),
    )
    shelf, volume, first, second, changed, deleted, restored = results
    assert (volume["shelfId"], first["volumeId"], second["volumeId"]) == (shelf["id"], volume["id"], volume["id"])
    assert (changed["title"], changed["version"], deleted) == ("U", 2, {})
    assert (restored["id"], restored["version"]) == (shelf["id"], 3)
    assert (await counter.row("volumes", volume["id"]) or {})["title"] == "U"


async def test_rows_of_one_entity_can_name_each_other(counter: Counter) -> None:
    outer, inner, innermost = await counter.apply(
        create("shelves", "a", name="A"),
        create("shelves", "b", name="B", insideId=the("a")),
        create("shelves", name="C", insideId=the("b")),
    )
    assert (inner["insideId"], innermost["insideId"]) == (outer["id"], inner["id"])


async def test_a_rule_on_other_rows_sees_the_final_state(counter: Counter) -> None:
    volume = await counter.create("volumes", title="T")
    visit = create("visits", volumeId=str(volume.id), day=DAY)
    (first,) = await counter.apply(visit)
    # Two visits on one day exist only between the operations.
    await counter.apply(visit, delete("visits", first["id"]))
    (second,) = await counter.apply(visit | {"values": {**visit["values"], "day": "2026-11-21"}})
    moved = change("visits", second["id"], day=DAY)
    assert await counter.failure(moved) == (UnprocessableEntity, ["operations[0].day"])
    await counter.apply(moved, change("visits", second["id"], day="2026-11-22"))
    assert await counter.failure(visit, visit) == (UnprocessableEntity, ["operations[0].day", "operations[1].day"])


async def test_a_rule_of_a_row_runs_with_its_operation(counter: Counter) -> None:
    volume = await counter.create("volumes", title="T")
    renewed = change("volumes", volume.id, condition="worn"), change("volumes", volume.id, condition="new")
    assert await counter.failure(*renewed) == (UnprocessableEntity, ["operations[1].condition"])


async def test_rules_of_cleared_references_refuse(counter: Counter) -> None:
    genre = await counter.create("genres", name="G")
    bound = await counter.create("volumes", title="T", code="bound", genre_id=genre.id)
    refused = await counter.failure(delete("genres", genre.id))
    assert refused == (UnprocessableEntity, ["operations[0].volumes.genreId"])
    await counter.apply(change("volumes", bound.id, code=None), delete("genres", genre.id))
    assert (await counter.row("volumes", bound.id) or {})["genreId"] is None


async def test_an_error_names_nothing_that_the_caller_may_not_read(counter: Counter) -> None:
    genre = await counter.create("genres", name="G")
    await counter.create("volumes", title="T", code="bound", genre_id=genre.id)
    clerk = caller(tenant_id=HERE.id, permissions=("delete:genres",), is_super_admin=True)
    assert await counter.failure(delete("genres", genre.id), by=clerk) == (UnprocessableEntity, ["operations[0]"])
    clerk = caller(tenant_id=HERE.id, permissions=("*:volumes",))
    refused = await counter.create("volumes", title="T", code="code")
    stale = change("volumes", refused.id, 9, title="U")
    assert await counter.failure(stale, by=clerk) == (PreconditionFailed, ["operations[0].version"])


async def test_the_first_kind_of_failure_names_each_failure(counter: Counter) -> None:
    shelf, volume = await counter.create("shelves", name="S"), await counter.create("volumes", title="T")
    await counter.create("marks", text="M", other_id=volume.id)
    broken = create("volumes", title="T", code="refused")
    taken = create("shelves", name="S")
    stale, used = change("shelves", shelf.id, 7, name="N"), delete("volumes", volume.id)
    absent = delete("volumes", new_id(), 1)
    dangling = create("volumes", title="T", shelfId=str(new_id()))
    every = [broken, taken, used, stale, absent, restore("shelves", new_id()), dangling, dangling]
    steps = [
        (ValidationError, ["operations[6].shelfId", "operations[7].shelfId"], 6),
        (NotFound, ["operations[4].id", "operations[5].id"], 4),
        (PreconditionFailed, ["operations[3].version"], 3),
        (Conflict, ["operations[1].name", "operations[2].id"], 1),
        (UnprocessableEntity, ["operations[0].code"], 0),
    ]
    for kind, fields, left in steps:
        assert await counter.failure(*every) == (kind, fields)
        every = every[:left]


async def test_consecutive_creates_name_each_of_their_failures(counter: Counter) -> None:
    await counter.create("shelves", name="A")
    names = [create("shelves", name=name) for name in ("B", "A", "C", "C")]
    assert await counter.failure(*names) == (Conflict, [f"operations[{n}].name" for n in (1, 2, 3)])


async def test_the_id_of_a_failed_create_is_no_further_failure(counter: Counter) -> None:
    await counter.create("shelves", name="S")
    operations = [
        create("shelves", "s", name="S"),
        create("volumes", "v", title="T", shelfId=the("s")),
        create("marks", text="M", volumeId=the("v")),
        change("shelves", the("s"), 1, name="N"),
    ]
    assert await counter.failure(*operations) == (Conflict, ["operations[0].name"])
    assert await counter.failure(*operations, create("marks", text="N", volumeId=str(new_id()))) == (
        ValidationError,
        ["operations[4].volumeId"],
    )


async def test_after_a_failed_restoration_its_rows_are_not_missing(counter: Counter) -> None:
    shelf = await counter.create("shelves", name="S")
    volume = await counter.create("volumes", title="T", shelf_id=shelf.id)
    await counter.apply(delete("shelves", shelf.id), create("shelves", name="S"))
    both = restore("shelves", shelf.id), change("volumes", volume.id, title="U")
    assert await counter.failure(*both) == (Conflict, ["operations[0].name"])


async def test_a_version_is_the_one_before_the_operation(counter: Counter) -> None:
    shelf = await counter.create("shelves", name="S")
    twice = change("shelves", shelf.id, 1, name="A"), change("shelves", shelf.id, 1, name="B")
    assert await counter.failure(*twice) == (PreconditionFailed, ["operations[1].version"])
    await counter.apply(change("shelves", shelf.id, 1, name="A"), delete("shelves", shelf.id, 2))
    assert await counter.failure(restore("shelves", shelf.id, 2)) == (PreconditionFailed, ["operations[0].version"])
    assert (await counter.apply(restore("shelves", shelf.id, 3)))[0]["version"] == 4


async def test_a_key_covers_all_operations(counter: Counter) -> None:
    operations = [create("shelves", "s", name="S"), create("volumes", title="T", shelfId=the("s"))]
    answers = await asyncio.gather(*(counter.outcome(*operations, key="k") for _ in range(6)))
    assert sorted(answer.is_replayed for answer in answers) == [False] + [True] * 5
    assert len({tuple(bytes(stored.body) for stored in answer.answer if stored) for answer in answers}) == 1
    with pytest.raises(UnprocessableEntity, match="Another request"):
        await counter.outcome(*operations[:1], key="k")


async def test_conflicts_are_retried_as_a_whole(library: WholeDatabase, library_registry: Registry) -> None:
    for lost, is_stored in ((TRIES - 1, True), (TRIES, False)):
        counter = Counter(library, library_registry)
        faltering = Counter(Faltering(library, SerializationConflict, times=lost), library_registry)
        operations = create("shelves", "s", name=f"S{lost}"), change("shelves", the("s"), 1, name=f"T{lost}")
        if is_stored:
            assert [row["version"] for row in await faltering.apply(*operations)] == [1, 2]
        else:
            with pytest.raises(Conflict, match="try again"):
                await faltering.apply(*operations)
        assert (f"T{lost}".encode() in (await counter.rows())["shelves"]) is is_stored


async def test_opposite_orders_of_the_same_rows_all_succeed(
    postgres_library: PostgresDatabase, library_registry: Registry
) -> None:
    counter = Counter(postgres_library, library_registry)
    shelves = [await counter.create("shelves", name=f"S{number}") for number in range(4)]
    volumes = [await counter.create("volumes", title="T", shelf_id=shelf.id) for shelf in shelves]
    changes = [change("shelves", row.id, name=f"N{row.id}") for row in shelves]
    changes += [change("volumes", row.id, title="U") for row in volumes]
    orders = [changes, changes[::-1]] * 5
    results = await asyncio.gather(*(counter.apply(*order) for order in orders))
    assert [len(rows) for rows in results] == [8] * 10
    assert {(await counter.row("volumes", row.id) or {})["version"] for row in volumes} == {11}


@dataclass
class Meeting:
    """A database on which two requests wait for each other after their first operation, once."""

    database: PostgresDatabase
    barrier: asyncio.Barrier = field(default_factory=lambda: asyncio.Barrier(2))
    begun: int = 0

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[Any]:
        self.begun += 1
        async with self.database.transaction(scope) as tx:
            yield Met(tx, self.barrier if self.begun <= 2 else None)


@dataclass
class Met:
    tx: PostgresTransaction
    barrier: asyncio.Barrier | None
    parts: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tx, name)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        self.parts += 1
        if self.parts == 2 and self.barrier is not None:
            await self.barrier.wait()
        async with self.tx.savepoint():
            yield


async def test_a_deadlock_is_retried(postgres_library: PostgresDatabase, library_registry: Registry) -> None:
    counter, meeting = Counter(postgres_library, library_registry), Meeting(postgres_library)
    # Nothing locks deleted rows in advance.
    rows = await counter.apply(create("shelves", name="A"), create("volumes", title="T"))
    orders = [restore(plural, row["id"]) for plural, row in zip(("shelves", "volumes"), rows, strict=True)]
    await counter.apply(*(order | {"op": "delete"} for order in orders))
    both = (Counter(meeting, library_registry).apply(*given) for given in (orders, orders[::-1]))
    first, second = sorted(await asyncio.gather(*both, return_exceptions=True), key=lambda told: str(type(told)))
    assert isinstance(first, Conflict)
    assert isinstance(second, list)
    assert meeting.begun == 3


@pytest.mark.parametrize("each", [20, pytest.param(1_000, marks=pytest.mark.long)])
async def test_a_hundred_deletions_with_a_thousand_rows_each(
    postgres_library: PostgresDatabase, library_registry: Registry, each: int
) -> None:
    counter = Counter(postgres_library, library_registry)
    volumes = await counter.apply(*(create("volumes", title=f"T{number}") for number in range(100)))
    statement = f"""
    INSERT INTO marks (tenant_id, id, text, volume_id, created_at, updated_at, is_deleted, version)
    SELECT tenant_id, gen_random_uuid(), id || ' ' || number, id, now(), now(), false, 1
    FROM volumes, generate_series(1, {each}) AS number
    """
    async with postgres_library.transaction(EveryTenant()) as tx:
        await tx.connection.execute(statement)
    assert await counter.apply(*(delete("volumes", row["id"]) for row in volumes)) == [{}] * 100
    async with postgres_library.read_only(HERE) as read:
        assert await read.connection.fetchval("SELECT count(*) FROM marks WHERE NOT is_deleted") == 0
