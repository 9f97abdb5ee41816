"""Statements that write rows: prepared against the schema, as few as possible, and one for each shape.

Deletions while another transaction changes the rows that they would take along.

Rows of an entity that the API only shows, which refer to rows that somebody deletes.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated
from uuid import UUID

import asyncpg
import pytest
from msgspec import Struct

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities import history, idempotency
from adapters.postgres.entities.files import loading_statements as loading
from adapters.postgres.entities.writing import bulk_statements as bulk
from adapters.postgres.entities.writing import removal_statements as removal
from adapters.postgres.entities.writing import single_row_statements as single
from adapters.postgres.entities.writing import unique_violations
from adapters.postgres.schema.sql import is_soft
from adapters.postgres.statements.compiled import CompiledStatement
from adapters.postgres.transaction import PostgresTransaction
from application.ports.entities.records import Act, Change, NewRow, Values
from benchmarks import catalogue
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import entity, ref, unique
from domain.entities.owning import NO_LIMITS
from domain.entities.query.query import WHOLE
from domain.entities.registry import build_registry
from domain.errors import PreconditionFailed
from domain.scope import OneTenant
from tests.adapters.postgres.migrations.changed_books import Books, declared
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.reading.test_records_reading import PRODUCT
from tests.contracts.entities.writing.test_records_writing import category, product
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import until

HERE = OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)
PLAIN = build_registry(catalogue.ENTITIES)  # products without a history

Run = Callable[[PostgresTransaction], Awaitable[object]]


@pytest.fixture
async def preparing(database_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


def writing(registry: Registry, model: EntityModel) -> Iterator[CompiledStatement]:
    references = tuple(field.name for field in model.declared if field.reference is not None)
    yield bulk.insert_rows(registry, model, NO_LIMITS)
    yield single.insert_row(registry, model, NO_LIMITS, references)
    yield single.insert_row(registry, model, NO_LIMITS, ())
    yield single.update_row(registry, model, NO_LIMITS, model.names, references)
    for is_partial in (True, False):
        yield bulk.update_rows(registry, model, NO_LIMITS, model.names, is_partial=is_partial)
    yield bulk.update_rows(registry, model, NO_LIMITS, (), is_partial=False)
    yield bulk.referring_rows(registry, model)
    for locked in (True, False):
        yield bulk.current_rows(registry, model, NO_LIMITS, locked=locked)
    for rule in model.unique:
        yield unique_violations.stored_values(registry, model, rule)
        yield unique_violations.clashing_rows(registry, model, rule)


def removing(registry: Registry, model: EntityModel) -> Iterator[CompiledStatement]:
    yield removal.purge_rows(registry, model)
    for is_final in (True, False):
        yield removal.lock_rows(registry, model, NO_LIMITS, is_final=is_final)
        for referring, field in registry.referring(model.plural):
            reference = (referring, field.name)
            yield removal.count_referring(registry, referring, ((model, field.name, True), (model, field.name, False)))
            yield removal.find_referring(registry, model, reference, is_final=is_final, locks=is_final)
            yield removal.clear_references(registry, model, reference, is_final=is_final)
            if is_final or is_soft(referring):
                yield removal.take_along(registry, model, reference, is_final=is_final)
    if is_soft(model):
        yield removal.mark_deleted(registry, model)
        for is_single in (True, False):
            yield removal.lock_and_mark(registry, model, NO_LIMITS, is_single=is_single)
        yield removal.take_mark_back(registry, model)
        yield removal.lock_row(registry, model, NO_LIMITS)
        yield removal.restore_rows(registry, model, NO_LIMITS)
        yield removal.restore_along(registry, model)
    for referring, field in registry.referring(model.plural):
        yield removal.has_dangling(registry, referring, field.name)
        if is_soft(referring):
            yield removal.find_deleted_with(registry, model, (referring, field.name))


def importing(registry: Registry, model: EntityModel) -> Iterator[CompiledStatement]:
    yield loading.insert_incoming(registry, model, NO_LIMITS)
    yield loading.find_refused(registry, model)
    yield loading.find_stale(registry, model)
    yield loading.read_updates(registry, model, NO_LIMITS)
    yield loading.forget_stored(registry, model)
    for field in model.declared:
        if field.reference is not None:
            yield loading.find_missing(registry, model, NO_LIMITS, field.name)
    for key in {name for rule in model.unique for name in rule.fields}:
        yield loading.adopt_matching(registry, model, NO_LIMITS, key)
        yield loading.drop_doubles(model, key)
        yield loading.find_apart(registry, model, key)
        for is_single in (True, False):
            yield loading.insert_incoming(registry, model, NO_LIMITS, is_upsert=True, is_single=is_single)
            yield loading.update_matching(registry, model, NO_LIMITS, key, is_single=is_single)


async def test_postgresql_accepts_each_writing_statement(
    preparing: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    for model in registry:
        if not model.declaration.writable:
            continue
        async with preparing.transaction():
            await preparing.execute(loading.create_incoming(model))
            for statement in (*writing(registry, model), *removing(registry, model), *importing(registry, model)):
                prepared = await preparing.prepare(statement.text)
                assert len(prepared.get_parameters()) == len(statement.parameters)
            await preparing.prepare(loading.LEAVE_OUT)


async def test_postgresql_accepts_the_statements_of_histories_and_idempotency(
    preparing: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    owners: tuple[history.Owner, ...] = ("shared", "tenant", "every tenant")
    for owner in owners:
        for statement in (history.count_statement(owner), history.page_statement(owner)):
            await preparing.prepare(statement.text)
    for text in (idempotency.CLAIM, idempotency.FIND, idempotency.KEEP):
        await preparing.prepare(text)


@entity("occasions", unique=[unique("by", "at")])
class Occasion(Struct, rename="camel", kw_only=True):
    """Fields have the names of a statement's parameters and parts."""

    by: str
    at: str
    ids: int
    tenant: int
    given: int
    written: int
    wrong: str
    n: int
    field: str


def test_a_field_can_be_called_as_a_parameter_is() -> None:
    registry = build_registry([Occasion])
    model = registry["occasions"]
    for statement in (*writing(registry, model), *removing(registry, model), *importing(registry, model)):
        assert len(set(statement.parameters)) == len(statement.parameters)
    inserted = single.insert_row(registry, model, NO_LIMITS, ())
    assert {"by", "at", "id", "tenant", *map(single.value_name, model.names)} == set(inserted.parameters)


async def sent_by(database: PostgresDatabase, run: Run) -> list[str]:
    """The statements that went to the server outside a transaction."""
    sent: list[str] = []
    async with database.autocommit(HERE) as tx:
        with tx.connection.query_logger(lambda record: sent.append(record.query)):
            await run(tx)
        await asyncio.sleep(0)  # the driver tells the logger in the next turn of the loop
    # the driver asks a new connection for the types of arrays
    return [text for text in sent if "pg_catalog" not in text and "current_setting" not in text]


def test_rows_that_several_references_name_are_locked_together_in_one_order() -> None:
    @entity("accounts")
    class Account(Struct, kw_only=True):
        name: str

    @entity("bookings")
    class Booking(Struct, kw_only=True):
        source_id: Annotated[UUID, ref("accounts")]
        target_id: Annotated[UUID, ref("accounts")]

    registry = build_registry((Account, Booking))
    inserting = bulk.insert_rows(registry, registry["bookings"], NO_LIMITS)
    assert inserting.text.count("FOR KEY SHARE") == 1


async def test_writing_rows_is_one_statement_however_many_they_are(
    postgres: PostgresDatabase, registry: Registry
) -> None:
    """With a history as well: ``categories`` keep one."""
    categories, products = registry["categories"], registry["products"]
    assert categories.declaration.history
    several = [NewRow(new_id(), category(f"C{number}")) for number in range(3)]
    alone = NewRow(new_id(), product("A", category_id=several[0].id))
    others = [NewRow(new_id(), product(f"B{number}", category_id=several[1].id)) for number in range(3)]
    runs: list[Run] = [
        lambda tx: tx.records.add(categories, several, ACT),
        lambda tx: tx.records.change(categories, [Change(several[0].id, {"name": "D"}, 1)], ACT),
        lambda tx: tx.records.add(products, [alone], ACT),
        lambda tx: tx.records.add(products, others, ACT),
        lambda tx: tx.records.change(products, [Change(alone.id, {"name": "E"}, 1)], ACT),
        lambda tx: tx.records.change(products, [Change(row.id, {"name": "F"}) for row in others], ACT),
    ]
    for run in runs:
        assert len(await sent_by(postgres, run)) == 1


async def test_the_order_of_a_changes_fields_makes_no_further_statement(
    postgres: PostgresDatabase, registry: Registry
) -> None:
    products, row = registry["products"], NewRow(new_id(), product("A"))
    await sent_by(postgres, lambda tx: tx.records.add(products, [row], ACT))
    first, second = Change(row.id, {"name": "B", "stock": 1}), Change(row.id, {"stock": 2, "name": "C"})
    texts = await sent_by(postgres, lambda tx: tx.records.change(products, [first], ACT))
    assert await sent_by(postgres, lambda tx: tx.records.change(products, [second], ACT)) == texts


async def added(postgres: PostgresDatabase, registry: Registry, plural: str, values: Values) -> UUID:
    async with postgres.transaction(HERE) as tx:
        (stored,) = await tx.records.add(registry[plural], [NewRow(new_id(), values)], ACT)
    return stored.id


async def removed(
    postgres: PostgresDatabase, registry: Registry, plural: str, row_id: UUID, version: int | None = None
) -> None:
    async with postgres.transaction(HERE) as tx:
        await tx.records.remove(registry[plural], [row_id], ACT, version)


async def test_a_row_that_is_moved_concurrently_is_not_cascade_deleted(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    going, staying = [await added(postgres, registry, "products", {**PRODUCT, "sku": sku}) for sku in ("A-1", "B-1")]
    values = {"product_id": going, "rating": 5, "author": "Bob", "text": None}
    moved, left = [await added(postgres, registry, "reviews", values) for _ in range(2)]
    async with owner.transaction():
        await owner.execute("UPDATE reviews SET product_id = $1 WHERE id = $2", staying, moved)
        deleting = asyncio.create_task(removed(postgres, registry, "products", going))
        await until(partial(owner.fetchval, SOMEBODY_WAITS))
    await deleting
    deleted = await owner.fetch("SELECT id, is_deleted FROM reviews")
    assert {row["id"]: row["is_deleted"] for row in deleted} == {moved: False, left: True}


@pytest.mark.parametrize("plural", ["products", "categories"])  # without a history, and with one
async def test_the_version_is_that_of_the_writer_who_was_waited_for(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", plural: str
) -> None:
    values = {"products": PRODUCT, "categories": {"name": "Lamps", "description": None}}[plural]
    row_id = await added(postgres, PLAIN, plural, values)
    async with owner.transaction():
        await owner.execute(f"UPDATE {plural} SET version = 2 WHERE id = $1", row_id)
        refused = asyncio.create_task(removed(postgres, PLAIN, plural, row_id, version=1))
        await until(partial(owner.fetchval, SOMEBODY_WAITS))
    with pytest.raises(PreconditionFailed):
        await refused
    state = f"SELECT is_deleted, version, deleted_with FROM {plural} WHERE id = $1"
    assert tuple(await owner.fetchrow(state, row_id) or ()) == (False, 2, None)
    await removed(postgres, PLAIN, plural, row_id, version=2)
    assert tuple(await owner.fetchrow(state, row_id) or ()) == (True, 3, row_id)


async def test_a_row_is_locked_marked_and_looked_for_in_two_statements(postgres: PostgresDatabase) -> None:
    going, sent = await added(postgres, PLAIN, "products", PRODUCT), list[str]()
    async with postgres.transaction(HERE) as tx:
        with tx.connection.query_logger(lambda record: sent.append(record.query)):
            await tx.records.remove(PLAIN["products"], [going], ACT, None)
    assert [("UPDATE products" in text, "FROM reviews" in text) for text in sent] == [(True, False), (False, True)]


async def test_a_reference_of_theirs_is_cleared_and_they_go_along(new_database: NewDatabase, tmp_path: Path) -> None:
    """They have no version, no author and no time of a change that a deletion would write."""
    fields = [
        ("title", str),
        ("category_id", Annotated[UUID | None, ref("categories", on_delete="clear")], None),
        ("origin_id", Annotated[UUID | None, ref("categories", on_delete="cascade", permanent=True)], None),
    ]
    registry = declared(fields, soft_delete=False, writable=False, sort="title")
    books = Books(await new_database(), tmp_path)
    await books.migrate(registry)
    database = PostgresDatabase(books.url, registry, CountingIds(), connections=1)
    await database.open()
    categories, staying, going = registry["categories"], new_id(), new_id()
    async with database.transaction(HERE) as tx:
        found = await tx.records.add(
            categories, [NewRow(new_id(), {"name": name, "description": None}) for name in "AB"], ACT
        )
    first, second = (stored.id for stored in found)
    insert = "INSERT INTO books (tenant_id, id, title, category_id, origin_id) VALUES ($1, $2, $3, $4, $5)"
    await books.ask(insert, HERE.id, staying, "stays", first, None)
    await books.ask(insert, HERE.id, going, "goes", None, second)
    async with database.transaction(HERE) as tx:
        assert await tx.records.remove(categories, [first, second], ACT, None) == [first, second]
    async with database.read_only(HERE) as read:
        assert await read.records.get(registry["books"], going, WHOLE) is None
        left = await read.records.get(registry["books"], staying, WHOLE)
    assert left is not None
    assert b'"categoryId":null' in bytes(left.body)
    await database.close()
