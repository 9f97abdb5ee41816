"""The memory adapter takes large files: the time of an import grows with its rows, not with their square."""

import time
from collections.abc import AsyncIterator

import pytest

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from application.ports.entities.files import Loading
from application.ports.entities.records import Act
from domain.entities.csv_rows import written
from domain.entities.declaration import Registry
from domain.scope import OneTenant
from tests.builders import NOW, new_id

HERE = OneTenant(new_id())
FEW, MANY = 1_000, 8_000
MOST = 24
"""Times the CPU time of few rows that many may take: 8 by their number, 64 by its square."""


async def lines(rows: int, *, is_upsert: bool) -> AsyncIterator[bytes]:
    for number in range(rows):
        own = ["11111111", None, None] if is_upsert else []
        cells = ["A", f"SKU-{number}", None, "1", str(number), "draft", None, None]
        yield written([str(number + 2), str(new_id()), *own, *cells]).encode()


@pytest.mark.parametrize("key", [None, "sku"])
async def test_an_import_takes_time_by_its_rows(registry: Registry, key: str | None) -> None:
    few = min([await seconds(registry, key, FEW) for _ in range(3)])
    assert await seconds(registry, key, MANY) < MOST * few


async def seconds(registry: Registry, key: str | None, rows: int) -> float:
    database, products, began = MemoryDatabase(registry, CountingIds()), registry["products"], time.process_time()
    loading = Loading(Act(by=new_id(), at=NOW), products.by_name[key] if key else None)
    for imported in (rows, rows if key else 0):
        async with database.transaction(HERE) as tx:
            loaded = await tx.transfers.load(products, lines(rows, is_upsert=key is not None), loading)
        assert (loaded.imported, loaded.imported + loaded.skipped, list(loaded.errors)) == (imported, rows, [])
    return time.process_time() - began
