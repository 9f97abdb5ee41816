"""Rows of a file on their way into PostgreSQL: what they refer to stays as long as it takes."""

from collections.abc import AsyncIterator
from functools import partial

import asyncpg
import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.files.copying import PostgresTransfers
from application.ports.entities.files import Loading
from application.ports.entities.records import Act, NewRow
from domain.entities.csv_rows import written
from domain.entities.declaration import Registry
from domain.entities.query.read_query import read_export
from domain.errors import ServiceUnavailable
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.test_records_writing import category
from tests.databases import SOMEBODY_WAITS
from tests.waiting import until

HERE = OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)
UNLOCKED = "SELECT id FROM categories ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"
"""What a deletion could change at this moment."""


async def lines(*categories: str | None) -> AsyncIterator[bytes]:
    for number, line_category in enumerate(categories, start=2):
        cells = ["A", f"SKU-{number}", None, "1", "0", "draft", line_category, None]
        yield written([str(number), str(new_id()), *cells]).encode()


@pytest.mark.parametrize("rows", [1, 400])
async def test_what_rows_refer_to_cannot_be_deleted_until_they_are_stored(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry, rows: int
) -> None:
    first, second, other, unknown = sorted(new_id() for _ in range(4))
    made = [NewRow(new, category(str(new))) for new in (first, second, other)]
    async with postgres.transaction(HERE) as tx:
        await tx.records.add(registry["categories"], made, ACT)
    referring = [str(second), str(first)] * rows
    async with postgres.transaction(HERE) as tx:
        coming = lines(*referring, None, str(unknown))
        loaded = await tx.transfers.load(registry["products"], coming, Loading(ACT, None))
        assert [found["id"] for found in await owner.fetch(UNLOCKED)] == [other]
    assert (loaded.imported, [error.row for error in loaded.errors]) == (2 * rows + 1, [2 * rows + 3])
    assert [found["id"] for found in await owner.fetch(UNLOCKED)] == [first, second, other]


async def first_piece(postgres: PostgresDatabase, registry: Registry, asked: str) -> None:
    products, query = registry["products"], read_export(registry["products"], registry, frozenset(), [])
    async with postgres.transaction(HERE) as tx:
        transfers = PostgresTransfers(tx.connection, registry, HERE, patience=0.05)
        if asked == "count":
            await transfers.count(products, query, 5)
        else:
            await anext(transfers.pieces(products, query, "csv"))


@pytest.mark.promise(
    "files, transfers: the time to the first row and the count of an xlsx end as a page's statement does"
)
@pytest.mark.parametrize("asked", ["rows", "count"])
async def test_a_slow_statement_of_an_export_ends_as_a_pages_does(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry, asked: str
) -> None:
    async with owner.transaction():
        await owner.execute("LOCK TABLE products IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(ServiceUnavailable):
            await first_piece(postgres, registry, asked)
        await until(partial(owner.fetchval, SOMEBODY_WAITS), False)
