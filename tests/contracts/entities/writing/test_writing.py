"""Writes of rows: rules that read other rows, idempotent responses, and the number of statements."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from adapters.memory.clock import CountingIds, MovableClock
from adapters.postgres.database import PostgresDatabase
from application.entities.batches import Batches
from application.entities.checks.rule_rows import TransactionRows
from application.entities.crud import Crud
from application.entities.writing import IdempotencyKey, RowWriter, Write
from application.ports.entities.records import Change, Stored
from application.ports.whole_database import WholeDatabase
from application.primary_reads import PrimaryReads
from application.retry import TRIES
from domain.entities.catalogue import Status
from domain.entities.declaration import Registry
from domain.entities.query.query import Operator
from domain.entities.rules import OtherRows, where
from domain.errors import Conflict, NotFound, PreconditionFailed, SerializationConflict, UnprocessableEntity
from domain.scope import OneTenant, Scope
from tests.builders import caller, new_id
from tests.library import Condition, Genre, Loan, Volume

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
ADA = caller(tenant_id=HERE.id, permissions=("*",), is_super_admin=True)
IDS = CountingIds()


class Desk:
    """The use cases of rows on a database."""

    def __init__(self, database: Any, registry: Registry) -> None:
        self.registry = registry
        self.writing = RowWriter(database, registry, MovableClock())
        self.crud = Crud(PrimaryReads(database), self.writing, IDS)
        self.batches = Batches(self.writing, IDS)

    def values(self, plural: str, **given: object) -> dict[str, object]:
        declared = self.registry[plural].declared
        return {**{optional.name: optional.default for optional in declared if not optional.required}, **given}

    async def create(
        self, plural: str, scope: OneTenant = HERE, idempotency_key: IdempotencyKey | None = None, **given: object
    ) -> Stored:
        write = Write(caller=ADA, scope=scope, idempotency_key=idempotency_key)
        return (await self.crud.create(write, self.registry[plural], self.values(plural, **given))).answer


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


@asynccontextmanager
async def asking(desk: Desk, scope: OneTenant = HERE) -> AsyncIterator[OtherRows]:
    async with desk.writing.database.transaction(scope) as tx:
        yield TransactionRows(tx.records, desk.registry)


async def test_rules_read_other_rows_with_their_declared_types(desk: Desk) -> None:
    genre = await desk.create("genres", name="G")
    row = await desk.create("volumes", title="T", cost=Decimal("1.50"), condition=Condition.WORN, genre_id=genre.id)
    expected = Volume(title="T", cost=Decimal("1.50"), condition=Condition.WORN, genre_id=genre.id)
    async with asking(desk) as rows:
        assert await rows.get(Volume, row.id) == expected
        assert await rows.all(Volume, where("condition", Operator.EQ, Condition.WORN)) == [expected]
        assert await rows.get(Genre, genre.id) == Genre(name="G")
        assert await rows.get(Volume, new_id()) is None


async def test_all_conditions_hold(desk: Desk) -> None:
    for cost in (1, 2, 3):
        await desk.create("volumes", title="T", cost=Decimal(cost))
    async with asking(desk) as rows:
        bounds = where("cost", Operator.GTE, Decimal(2)), where("title", Operator.EQ, "T")
        assert await rows.count(Volume, *bounds) == 2
        assert await rows.count(Volume) == 3
        assert [volume.cost for volume in await rows.all(Volume, *bounds)] == [2, 3]
        assert await rows.count(Volume, where("cost", Operator.GT, Decimal(9))) == 0


async def test_rules_see_neither_other_tenants_nor_deleted_rows(desk: Desk) -> None:
    foreign, gone = await desk.create("volumes", THERE, title="T"), await desk.create("volumes", title="T")
    await desk.crud.delete(Write(caller=ADA, scope=HERE), desk.registry["volumes"], gone.id, None)
    async with asking(desk) as rows:
        assert await rows.count(Volume) == 0
        assert await rows.all(Volume) == []
        assert await rows.get(Volume, foreign.id) is None
        assert await rows.get(Volume, gone.id) is None


async def test_concurrent_creations_stay_within_the_limit_of_a_rule(desk: Desk) -> None:
    row = await desk.create("volumes", title="T")
    lent = [desk.create("loans", volume_id=row.id, borrower="Ada") for _ in range(8)]
    results = await asyncio.gather(*lent, return_exceptions=True)
    assert sum(isinstance(result, Stored) for result in results) == 2
    assert sum(isinstance(result, UnprocessableEntity) for result in results) == 6
    async with asking(desk) as rows:
        assert await rows.count(Loan) == 2


async def test_of_many_requests_under_one_key_one_writes(desk: Desk) -> None:
    once = IdempotencyKey("k", "f")
    stored = await asyncio.gather(*(desk.create("volumes", idempotency_key=once, title="T") for _ in range(12)))
    assert len({row.id for row in stored}) == 1
    assert len({bytes(row.body) for row in stored}) == 1


@dataclass
class Faltering:
    """A database that fails a few times, either before anything is stored or after the commit."""

    database: WholeDatabase
    fails: Callable[[], Exception]
    times: int
    after_commit: bool = False
    begun: int = field(default=0)

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[Any]:
        self.begun += 1
        async with self.database.transaction(scope) as tx:
            yield tx
            if self.begun <= self.times and not self.after_commit:
                raise self.fails()
        if self.begun <= self.times:
            raise self.fails()

    read_only = autocommit = transaction


async def test_a_serialization_conflict_is_retried(library: WholeDatabase, library_registry: Registry) -> None:
    faltering = Faltering(library, SerializationConflict, times=TRIES - 1)
    desk = Desk(faltering, library_registry)
    stored = await desk.create("shelves", name="A")
    assert (stored.version, faltering.begun) == (1, TRIES)


async def test_a_repeated_serialization_failure_is_reported_as_a_conflict(
    library: WholeDatabase, library_registry: Registry
) -> None:
    faltering = Faltering(library, SerializationConflict, times=100)
    desk = Desk(faltering, library_registry)
    with pytest.raises(Conflict):
        await desk.create("shelves", name="A")
    assert faltering.begun == TRIES


async def test_who_dies_between_the_write_and_its_answer_gets_it_the_next_time(
    library: WholeDatabase, library_registry: Registry
) -> None:
    dying = Faltering(library, ConnectionResetError, times=1, after_commit=True)
    once = IdempotencyKey("k-dead", "f")
    with pytest.raises(ConnectionResetError):
        await Desk(dying, library_registry).create("shelves", idempotency_key=once, name="A")
    desk = Desk(library, library_registry)
    stored = await desk.create("shelves", idempotency_key=once, name="A")
    assert b'"name":"A"' in bytes(stored.body)
    async with asking(desk) as rows:
        assert await rows.count(library_registry["shelves"].struct) == 1


@dataclass
class Counting:
    """Counts the statements between BEGIN and COMMIT, without the driver's queries for types."""

    database: PostgresDatabase
    statements: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[Any]:
        async with self.database.transaction(scope) as tx:
            with tx.connection.query_logger(lambda record: self._note(record.query)):
                yield tx

    def _note(self, query: str) -> None:
        if "typeinfo_tree" not in query and "current_setting('jit')" not in query:
            self.statements.append(query)

    read_only = autocommit = transaction


MANY = 1_000


async def test_a_thousand_rows_cost_four_statements_at_most(postgres: PostgresDatabase, registry: Registry) -> None:
    """The rows have a unique value, a reference, a rule and cascades; categories record a history."""
    write, counting = Write(caller=ADA, scope=HERE), Counting(postgres)
    desk = Desk(counting, registry)
    category = await desk.create("categories", name="Books")

    async def costs(work: Awaitable[object]) -> int:
        counting.statements.clear()
        await work
        return len(counting.statements)

    def lamp(n: int) -> dict[str, object]:
        return desk.values("products", name="L", sku=f"L-{n:04}", price=Decimal(1), category_id=category.id)

    products, categories = registry["products"], registry["categories"]
    lamps = [lamp(n) for n in range(MANY)]
    assert await costs(desk.batches.create(write, products, lamps)) <= 4
    names = [{"name": f"C {n}", "description": None} for n in range(MANY)]
    assert await costs(desk.batches.create(write, categories, names)) <= 4
    async with postgres.read_only(HERE) as read:
        model = await read.connection.fetch("SELECT id FROM products")
        others = await read.connection.fetch("SELECT id FROM categories WHERE id <> $1", category.id)
    ids, further = [row["id"] for row in model], [row["id"] for row in others]
    assert (len(ids), len(further)) == (MANY, MANY)
    live = [Change(row_id, {"status": Status.LIVE} if n % 2 else {"stock": n}) for n, row_id in enumerate(ids)]
    assert await costs(desk.batches.update(write, products, live)) <= 4
    assert (
        await costs(
            desk.batches.update(write, categories, [Change(row_id, {"description": "x"}) for row_id in further])
        )
        <= 4
    )
    await desk.create("reviews", product_id=ids[0], rating=1, author="Ada")
    assert await costs(desk.batches.delete(write, products, ids)) <= 4
    assert await costs(desk.batches.delete(write, categories, further)) <= 4


async def test_one_row_with_its_history_costs_one_statement(postgres: PostgresDatabase, registry: Registry) -> None:
    counting, categories = Counting(postgres), registry["categories"]
    desk = Desk(counting, registry)
    made = await desk.create("categories", name="Books")
    assert len(counting.statements) == 1, counting.statements
    counting.statements.clear()
    await desk.crud.update(Write(caller=ADA, scope=HERE), categories, Change(made.id, {"name": "Films"}))
    assert len(counting.statements) == 1, counting.statements


async def test_the_deletion_of_a_row_that_no_entity_references_costs_one_statement(
    postgres: PostgresDatabase, registry: Registry
) -> None:
    counting, write = Counting(postgres), Write(caller=ADA, scope=HERE)
    desk, reviews = Desk(counting, registry), registry["reviews"]
    lamp = await desk.create("products", name="L", sku="L-0001", price=Decimal(1))
    review, other = [await desk.create("reviews", product_id=lamp.id, rating=5, author="Ada") for _ in range(2)]
    counting.statements.clear()
    await desk.crud.delete(write, reviews, review.id, None)
    assert len(counting.statements) == 1, counting.statements
    with pytest.raises(NotFound):
        await desk.crud.delete(write, reviews, review.id, None)
    with pytest.raises(NotFound):
        await desk.crud.delete(Write(caller=ADA, scope=THERE), reviews, other.id, None)
    with pytest.raises(PreconditionFailed):
        await desk.crud.delete(write, reviews, other.id, other.version + 1)
    await desk.crud.delete(write, reviews, other.id, other.version)


async def test_the_deletion_in_one_statement_is_recorded_and_can_be_undone(desk: Desk, library: WholeDatabase) -> None:
    write, seats = Write(caller=ADA, scope=HERE), desk.registry["seats"]
    seat = await desk.create("seats", code="A1", shelf_id=(await desk.create("shelves", name="S")).id)
    await desk.crud.delete(write, seats, seat.id, None)
    async with library.read_only(HERE) as read:
        entries, _ = await read.history.page(seats, seat.id, 0, 10)
    assert [(entry.action, entry.version) for entry in entries] == [("deleted", 2), ("created", 1)]
    assert (await desk.crud.restore(write, seats, seat.id, None)).answer.version == 3


async def test_a_change_reads_the_row_first_only_when_a_rule_needs_it(
    postgres: PostgresDatabase, registry: Registry
) -> None:
    counting = Counting(postgres)
    desk = Desk(counting, registry)
    made = await desk.create("products", name="L", sku="L-0001", price=Decimal(1))
    write, products = Write(caller=ADA, scope=HERE), registry["products"]
    for values, statements in (({"price": Decimal(2)}, 1), ({"status": Status.RETIRED}, 2)):
        counting.statements.clear()
        await desk.crud.update(write, products, Change(made.id, values))
        assert len(counting.statements) == statements, counting.statements
    with pytest.raises(UnprocessableEntity):
        await desk.crud.update(write, products, Change(made.id, {"status": Status.LIVE}))


async def test_one_item_is_named_as_one_of_many_is(desk: Desk) -> None:
    write = Write(caller=ADA, scope=HERE)
    with pytest.raises(NotFound) as error:
        await desk.batches.update(write, desk.registry["shelves"], [Change(new_id(), {"name": "x"})])
    assert [detail.field for detail in error.value.fields] == ["items[0].id"]
