"""Imports that change rows of an entity with several unique values: as few statements as for one with a single one."""

from collections.abc import AsyncIterator

import pytest
from msgspec import Struct

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.files import Loaded, Loading
from application.ports.entities.records import Act
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.csv_rows import written
from domain.entities.markers import entity, unique
from domain.entities.registry import build_registry
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase


@entity("parts", unique=[unique("number"), unique("name", ignore_case=True)], history=True)
class Part(Struct, kw_only=True):
    number: str
    name: str
    stock: int = 0


REGISTRY = build_registry([*BUILTIN_ENTITIES, Part])
PARTS = REGISTRY["parts"]
HERE, ACT = OneTenant(new_id()), Act(by=new_id(), at=NOW)
STORED = "SELECT number, name, stock, version FROM parts ORDER BY number"


@pytest.fixture
async def database(
    new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PostgresDatabase]:
    url, folders = await new_database(), [VERSIONS, tmp_path_factory.mktemp("migrations")]
    assert await write_migration(url, REGISTRY, "parts", folders) is not None
    await upgrade(url, REGISTRY, folders)
    database = PostgresDatabase(url, REGISTRY, CountingIds(), connections=2)
    await database.open()
    yield database
    await database.close()


async def load(database: PostgresDatabase, *rows: tuple[str, str, int]) -> tuple[Loaded, int]:
    """What became of the rows, and the number of statements that said so."""
    sent: list[str] = []

    async def pieces() -> AsyncIterator[bytes]:
        for number, row in enumerate(rows, start=2):
            yield written([str(number), str(new_id()), "111", None, None, *map(str, row)]).encode()

    async with database.transaction(HERE) as tx:
        with tx.connection.query_logger(lambda record: sent.append(record.query)):
            loaded = await tx.transfers.load(PARTS, pieces(), Loading(ACT, PARTS.by_name["number"], ()))
    return loaded, len(sent)


async def stored(database: PostgresDatabase) -> list[tuple[object, ...]]:
    async with database.transaction(HERE) as tx:
        return [tuple(row) for row in await tx.connection.fetch(STORED)]


async def test_rows_that_keep_their_unique_values_are_stored_together(database: PostgresDatabase) -> None:
    rows = [(f"P-{n:03}", f"Part {n}", n) for n in range(200)]
    loaded, _ = await load(database, *rows[:100])
    assert loaded == Loaded(100, 0, [])
    loaded, count = await load(database, *((number, name, stock + 1) for number, name, stock in rows))
    assert loaded == Loaded(200, 0, [])
    assert count < 40
    assert await stored(database) == [
        (number, name, stock + 1, 2 if stock < 100 else 1) for number, name, stock in rows
    ]


async def test_a_row_that_takes_another_unique_value_finds_what_the_rows_before_it_left(
    database: PostgresDatabase,
) -> None:
    await load(database, ("P-1", "Bolt", 1), ("P-2", "Nut", 2), ("P-3", "Rod", 3))
    loaded, _ = await load(
        database,
        ("P-1", "BOLT", 10),  # its own name, in capitals
        ("P-2", "rod", 20),  # the name is still that of P-3
        ("P-3", "Pin", 30),
        ("P-4", "Rod", 40),  # the name is free by now
        ("P-5", "Bolt", 50),  # the name is that of P-1
        ("P-6", "Nut", 60),  # P-2 was skipped, and keeps its name
    )
    assert loaded == Loaded(3, 3, [])
    assert await stored(database) == [
        ("P-1", "BOLT", 10, 2),
        ("P-2", "Nut", 2, 1),
        ("P-3", "Pin", 30, 2),
        ("P-4", "Rod", 40, 1),
    ]
