"""Upserts of long rows under a rule: few of them are in the process at once."""

import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.files import Loading
from application.ports.entities.records import Act, NewRow
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.csv_rows import written
from domain.entities.declaration import Registry
from domain.entities.markers import entity, unique
from domain.entities.registry import build_registry
from domain.errors import FieldError
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase

HERE = OneTenant(new_id())
ACT = Act(by=None, at=NOW)
ROWS, LETTERS = 40, 500_000


@entity("scrolls", unique=[unique("name")])
class Scroll(Struct, rename="camel", kw_only=True):
    name: Annotated[str, Meta(max_length=20)]
    text: str

    def check(self, before: "Scroll | None") -> Iterator[FieldError]:
        if before is not None and before.text[:1] != self.text[:1]:
            yield FieldError("text", "keeps its first letter")


@pytest.fixture
def scrolls() -> Registry:
    return build_registry([Scroll, *BUILTIN_ENTITIES])


@pytest.fixture
async def library(new_database: NewDatabase, scrolls: Registry, tmp_path: Path) -> AsyncIterator[PostgresDatabase]:
    url, folders = await new_database(), [VERSIONS, tmp_path]
    assert await write_migration(url, scrolls, "scrolls", folders) is not None
    assert await upgrade(url, scrolls, folders) == []
    database = PostgresDatabase(url, scrolls, CountingIds(), connections=1)
    await database.open()
    yield database
    await database.close()


async def file_of(letters: str) -> AsyncIterator[bytes]:
    for number, letter in enumerate(letters):
        yield written([str(number + 2), str(new_id()), "11", None, None, f"S {number}", letter * 10]).encode()


async def test_few_long_rows_are_checked_at_once(library: PostgresDatabase, scrolls: Registry) -> None:
    model = scrolls["scrolls"]
    new = [NewRow(new_id(), {"name": f"S {number}", "text": "a" * LETTERS}) for number in range(ROWS)]
    async with library.transaction(HERE) as tx:
        await tx.records.add(model, new, ACT)
    loading = Loading(ACT, model.by_name["name"])
    async with library.transaction(HERE) as tx:
        tracemalloc.start()
        loaded = await tx.transfers.load(model, file_of("a" * (ROWS - 1) + "b"), loading)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (loaded.imported, [error.row for error in loaded.errors]) == (ROWS - 1, [ROWS + 1])
    assert most < ROWS * LETTERS / 2, f"{most} bytes"
