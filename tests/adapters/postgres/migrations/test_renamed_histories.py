"""Histories of renamed fields and entities: their lines move along, and nobody waits for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import msgspec
import pytest
from msgspec import defstruct, field

from adapters.postgres.migrations.commands import LockPatience
from adapters.postgres.migrations.migrate import downgrade, pending_sql, upgrade
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import entity
from domain.entities.registry import build_registry
from tests.adapters.postgres.migrations.changed_books import Books, Fields, declared
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import HUNG_AFTER

NOW = datetime.now(UTC)
ADD = """
INSERT INTO row_history (tenant_id, entity, row_id, version, action, at, changes)
VALUES ($1, $5, $2, 1, 'created', $3, $4)"""
TOLD = "SELECT entity, changes -> 0 ->> 'field' FROM row_history ORDER BY at"
MILLISECONDS = timedelta(milliseconds=1)


async def tell(books: Books, *names: str, at: datetime = NOW, entity_name: str = "books") -> None:
    """Adds a line of the history of books for each field, in this order."""
    for number, name in enumerate(names):
        changes = msgspec.json.encode([{"field": name, "from": None, "to": 1}]).decode()
        await books.ask(ADD, books.tenant, uuid4(), at + number * MILLISECONDS, changes, entity_name)


def kept(fields: Fields) -> Registry:
    return histories({"books": (fields, "camel")})


def histories(fields_of: dict[str, tuple[Fields, Any]]) -> Registry:
    """Entities with histories: their fields, and the rule by which msgspec names them in JSON."""
    made = [
        entity(plural, history=True)(defstruct(plural.title(), fields, rename=rule, kw_only=True))
        for plural, (fields, rule) in fields_of.items()
    ]
    return build_registry([*BUILTIN_ENTITIES, *made])


@asynccontextmanager
async def holding_lines(books: Books, since: datetime) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A transaction that has locked the lines since a moment, so that whoever changes them waits."""
    connection = await asyncpg.connect(books.url, server_settings={"tenantry.scope": "every"})
    try:
        async with connection.transaction():
            await connection.execute("SELECT FROM row_history WHERE at >= $1 FOR UPDATE", since)
            yield connection
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("table", "column", "spoken"),
    [("books", "sku", "code=sku"), ("titles", "code", "books=titles")],
)
async def test_history_entries_are_renamed_day_by_day_without_blocking_writers(
    books: Books, table: str, column: str, spoken: str
) -> None:
    after = declared([(column, int)], table, history=True)
    await books.start(declared([("code", int)], history=True))
    await tell(books, "code", at=NOW - timedelta(days=2))
    await tell(books, "code")
    async with asyncio.timeout(HUNG_AFTER), holding_lines(books, NOW) as connection:
        # the file is written without a change of any line
        written = await books.write(after, spoken)
        assert written.after is not None
        assert "online = True" in written.after.read_text()
        # the wait for a line has no limit: a try that gave up would begin anew
        patience = LockPatience(seconds=0.02, pause=0, tries=1)
        migration = asyncio.create_task(upgrade(books.url, after, books.folders, patience))
        while not await connection.fetchval(SOMEBODY_WAITS):
            assert not migration.done()
        await books.add({column: 1}, table=table)
        assert await books.ask(TOLD) == [(table, column), ("books", "code")]
        assert not migration.done()
    assert await migration == []
    assert await books.ask(TOLD) == [(table, column)] * 2
    assert await downgrade(books.url, after, books.folders) == [written.path, written.after]
    assert await books.ask(TOLD) == [("books", "code")] * 2


async def test_printed_sql_moves_all_lines_together_outside_the_transaction_of_the_table(books: Books) -> None:
    await books.start(kept([("code", int)]))
    await tell(books, "code", "title")
    after = kept([("sku", int)])
    await books.write(after, "code=sku")
    printed = await pending_sql(books.url, after, books.folders)
    first, second = printed.split("UPDATE row_history", 1)
    assert first.rindex("COMMIT;") > first.rindex("RENAME COLUMN code TO sku")
    assert "\nCOMMIT;" in second
    connection = await asyncpg.connect(books.url, server_settings={"tenantry.scope": "every"})
    for statement in printed.split(";\n"):
        await connection.execute(statement)
    await connection.close()
    assert [told for _, told in await books.ask(TOLD)] == ["sku", "title"]


BY_HAND = field(name="sku")
NAMED: dict[str, tuple[Fields, str | None, Any, str, str]] = {
    # names of one word each do not tell the rule
    "books": ([], None, ("price", int), "unit_price", "price"),
    "films": ([], "camel", ("price", int), "unitPrice", "price"),
    "games": ([], "kebab", ("price", int), "unit-price", "price"),
    # others do, beside names that were given by hand
    "lamps": ([("code", int, BY_HAND)], "camel", ("full_price", int), "unitPrice", "fullPrice"),
    "plays": ([("shelf_mark", int)], "camel", ("cost", int, field(name="price")), "unitPrice", "price"),
    "songs": ([("shelf_mark", int)], None, ("cost", int, field(name="price")), "unit_price", "price"),
    # such as that of another field, whose lines stay
    "tapes": ([("code", int, field(name="unit_price"))], "camel", ("full_price", int), "unit_price", "unit_price"),
}
"""Entities with other fields and a rule of names, which rename ``unit_price``; what their lines tell of it, before and
after."""


async def test_lines_of_a_field_are_found_by_the_json_name_that_it_had(books: Books) -> None:
    """All at once, each in an entity of its own."""
    price = ("unit_price", int)
    await books.start(histories({plural: ([price, *others], rule) for plural, (others, rule, *_) in NAMED.items()}))
    for plural, (*_, told, _) in NAMED.items():
        await tell(books, told, "title", entity_name=plural)
    after = histories({plural: ([new, *others], rule) for plural, (others, rule, new, *_) in NAMED.items()})
    written = await books.migrate(after, *(f"{plural}.unit_price={case[2][0]}" for plural, case in NAMED.items()))
    becomes = {plural: [case[-1], "title"] for plural, case in NAMED.items()}
    assert await names_told(books) == becomes
    assert written.after is not None
    lines = written.after.read_text().splitlines()
    by_hand = "a JSON name that was given by hand belongs in the place of"
    noted = {plural: any(f" {plural} " in line and by_hand in line for line in lines) for plural in NAMED}
    assert noted == dict.fromkeys(NAMED, True)
    await downgrade(books.url, after, books.folders)
    # the likeliest of the names, where the struct does not tell
    likeliest = {
        plural: [told if others else "unitPrice", "title"] for plural, (others, _, _, told, _) in NAMED.items()
    }
    assert await names_told(books) == likeliest


async def names_told(books: Books) -> dict[str, list[str]]:
    told = await books.ask(TOLD)
    return {plural: [name for entity_name, name in told if entity_name == plural] for plural in NAMED}
