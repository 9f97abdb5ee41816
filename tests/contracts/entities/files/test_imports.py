"""Rights during a transfer: an import asks again before it commits, and an export now and then.

Large imports renew the statistics of their table, after the commit, on a connection of their own.
"""

import asyncio
import logging
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import asyncpg
import pytest
from msgspec.structs import replace

from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.database import MemoryDatabase
from adapters.memory.upkeep import MemoryUpkeep
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.operations.upkeep import PostgresUpkeep
from adapters.sheets.processes import ProcessSheets
from adapters.system import SystemClock
from application.entities.transfers.exports import ASKED_AGAIN, while_alive
from application.entities.transfers.imports import ANALYZED_FROM, FileImport, Report
from application.entities.writing import Write
from application.ports.upkeep import Upkeep
from application.ports.whole_database import WholeDatabase
from domain.entities.bodies import EVERY_FIELD
from domain.entities.declaration import EntityModel, Registry
from domain.entities.files.options import ImportOptions
from domain.entities.query.query import Count, Query
from domain.errors import TokenExpired, TokenInvalid
from domain.retention import DatedRecords
from domain.scope import Caller, OneTenant, grants_subject, user_subject
from tests.builders import NOW, caller, new_id
from tests.conftest import NewDatabase
from tests.waiting import HUNG_AFTER

HERE = OneTenant(new_id())
ADA = new_id()
END = NOW.replace(microsecond=0) + timedelta(minutes=60)
CALLER = caller(
    user_id=ADA,
    tenant_id=HERE.id,
    permissions=("*",),
    issued={user_subject(ADA): 0, grants_subject(ADA): 0},
    expires_at=int(END.timestamp()),
)
FILE = b"name,sku,price\r\nKettle,KETTLE,1\r\n"


async def imported(database: WholeDatabase, registry: Registry, caller: Caller, clock: MovableClock) -> int:
    """Imports a row, and returns how many there are afterwards."""
    importing = FileImport(
        database, registry, clock, ProcessSheets(), MemoryUpkeep(MemoryDatabase(registry, CountingIds()))
    )
    with tempfile.TemporaryFile() as upload:
        upload.write(FILE)
        await importing.import_(
            Write(caller=caller, scope=HERE), registry["products"], upload, ImportOptions(), EVERY_FIELD
        )
    return await stored(database, registry)


async def stored(database: WholeDatabase, registry: Registry) -> int:
    async with database.read_only(HERE) as read:
        page = await read.records.page(registry["products"], Query(sort=(), count=Count.EXACT))
    assert page.total is not None
    return page.total


async def bump(database: WholeDatabase, subject: str) -> None:
    async with database.transaction(HERE) as tx:
        await tx.token_versions.bump([subject])


async def test_an_import_of_one_who_may_is_stored(database: WholeDatabase, registry: Registry) -> None:
    living = MovableClock(END - timedelta(milliseconds=1))
    assert await imported(database, registry, CALLER, living) == 1


@pytest.mark.promise(
    "security, rights: Rights and expiry are judged again inside the transaction of an import, just before its commit"
)
@pytest.mark.parametrize(("subject", "error"), [(user_subject(ADA), TokenInvalid), (grants_subject(ADA), TokenExpired)])
async def test_an_import_stores_nothing_when_its_caller_is_revoked_concurrently(
    database: WholeDatabase, registry: Registry, subject: str, error: type[Exception]
) -> None:
    await bump(database, subject)
    with pytest.raises(error):
        await imported(database, registry, CALLER, MovableClock(END - timedelta(milliseconds=1)))
    assert await stored(database, registry) == 0


@pytest.mark.promise(
    "security, rights: Rights and expiry are judged again inside the transaction of an import, just before its commit"
)
async def test_an_import_stores_nothing_when_its_token_expires_during_the_import(
    database: WholeDatabase, registry: Registry
) -> None:
    with pytest.raises(TokenExpired):
        await imported(database, registry, CALLER, MovableClock(END))
    assert await stored(database, registry) == 0
    operator = replace(CALLER, issued={}, expires_at=0)
    assert await imported(database, registry, operator, MovableClock(END)) == 1


class Rights:
    """Rights that end after so many questions."""

    def __init__(self, lasts: int) -> None:
        self.left = lasts

    async def ensure_alive(self, caller: Caller) -> None:
        assert caller is CALLER
        self.left -= 1
        if self.left < 0:
            raise TokenInvalid


@pytest.mark.promise(
    "security, rights: an export is broken off within ten seconds once its caller was logged out or lost rights"
)
async def test_an_export_stops_when_its_caller_is_revoked_concurrently() -> None:
    clock, closed, sent = MovableClock(NOW), [], []

    async def rows() -> AsyncGenerator[bytes, None]:
        try:
            for number in range(100):
                clock.move(ASKED_AGAIN / 5)
                yield b"%d" % number
        finally:
            closed.append(True)

    pieces = while_alive(CALLER, rows(), Rights(lasts=2).ensure_alive, clock)
    while not closed:
        with suppress(TokenInvalid):
            sent.append(await anext(pieces))
    assert (len(sent), closed) == (14, [True])


async def test_a_short_file_does_not_check_rights_again() -> None:
    async def rows() -> AsyncGenerator[bytes, None]:
        yield b"row"

    assert [piece async for piece in while_alive(CALLER, rows(), Rights(lasts=0).ensure_alive, MovableClock(NOW))] == [
        b"row"
    ]


ANALYZED = "SELECT last_analyze FROM pg_stat_user_tables WHERE relname = 'products'"
NOBODY_ANSWERS = "postgresql://nobody@127.0.0.1:1/none"


@pytest.fixture
async def own_database(new_database: NewDatabase, registry: Registry) -> AsyncIterator[PostgresDatabase]:
    """A single connection: an import that held it while it waits for something else would wait for ever."""
    database = PostgresDatabase(await new_database(), registry, CountingIds(), connections=1)
    await database.open()
    yield database
    await database.close()


@dataclass
class CountedAtAnalysis:
    """Counts what is stored for others at the moment of each analysis, by the import's own database."""

    database: WholeDatabase
    counts: list[int] = field(default_factory=list)

    async def tend(self) -> Sequence[str]:
        return ()

    async def earlier(self, now: datetime) -> datetime:
        return now

    async def analyze(self, model: EntityModel) -> None:
        async with self.database.read_only(HERE) as read:
            self.counts.append(await read.transfers.count(model, Query(sort=()), 1_000_000))

    async def forget(self, what: DatedRecords, before: datetime, most: int) -> int | None:
        return 0


async def imported_of_import_statistics(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep, rows: int, options: ImportOptions | None = None
) -> Report:
    importing = FileImport(database, registry, SystemClock(), ProcessSheets(), upkeep)
    with tempfile.TemporaryFile() as upload:
        upload.write(b"name,sku,price\r\n" + b"".join(b"A,SKU-%d,1\r\n" % n for n in range(rows)))
        write = Write(caller=caller(tenant_id=HERE.id, permissions=("*",)), scope=HERE)
        async with asyncio.timeout(HUNG_AFTER):
            written = await importing.import_(
                write, registry["products"], upload, options or ImportOptions(), EVERY_FIELD
            )
    return written.answer


async def analyzed(database: PostgresDatabase) -> datetime | None:
    connection = await asyncpg.connect(database.url)
    try:
        moment: datetime | None = await connection.fetchval(ANALYZED)
    finally:
        await connection.close()
    return moment


@pytest.mark.promise("files, transfers: Large imports renew the planner's statistics after their commit")
async def test_a_large_import_renews_the_statistics_and_a_small_one_does_not(
    own_database: PostgresDatabase, registry: Registry
) -> None:
    upkeep = PostgresUpkeep(own_database.url, registry)
    assert (await imported_of_import_statistics(own_database, registry, upkeep, 10)).imported == 10
    assert await analyzed(own_database) is None
    # ten rows are there already: one fewer is stored than the file has
    assert (
        await imported_of_import_statistics(own_database, registry, upkeep, ANALYZED_FROM + 9)
    ).imported == ANALYZED_FROM - 1
    assert await analyzed(own_database) is None
    first = ANALYZED_FROM + 9
    assert (
        await imported_of_import_statistics(own_database, registry, upkeep, first + ANALYZED_FROM)
    ).imported == ANALYZED_FROM
    assert await analyzed(own_database) is not None


async def test_a_dry_run_does_not_change_the_statistics(own_database: PostgresDatabase, registry: Registry) -> None:
    upkeep = PostgresUpkeep(own_database.url, registry)
    report = await imported_of_import_statistics(
        own_database, registry, upkeep, ANALYZED_FROM, ImportOptions(dry_run=True)
    )
    assert report.imported == ANALYZED_FROM
    assert await analyzed(own_database) is None


@pytest.mark.promise("files, transfers: Large imports renew the planner's statistics after their commit")
async def test_the_rows_are_committed_and_the_connection_is_free_by_then(
    own_database: PostgresDatabase, registry: Registry
) -> None:
    upkeep = CountedAtAnalysis(own_database)
    assert (
        await imported_of_import_statistics(own_database, registry, upkeep, ANALYZED_FROM)
    ).imported == ANALYZED_FROM
    assert upkeep.counts == [ANALYZED_FROM]


@pytest.mark.promise("files, transfers: Large imports renew the planner's statistics after their commit")
async def test_an_import_succeeds_without_statistics_and_says_so_once(
    own_database: PostgresDatabase, registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    upkeep = PostgresUpkeep(NOBODY_ANSWERS, registry)
    with caplog.at_level(logging.WARNING, logger="application"):
        assert (
            await imported_of_import_statistics(own_database, registry, upkeep, ANALYZED_FROM)
        ).imported == ANALYZED_FROM
    (line,) = [record.getMessage() for record in caplog.records if record.name.startswith("application")]
    assert line.startswith(f"The statistics of products were not renewed after an import of {ANALYZED_FROM} rows")
