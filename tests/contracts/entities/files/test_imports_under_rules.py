"""Imports of rows whose rule reads other rows: written one by one, in the order of the file."""

import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
import pytest

from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.database import MemoryDatabase
from adapters.memory.upkeep import MemoryUpkeep
from adapters.postgres.database import PostgresDatabase
from adapters.sheets.processes import ProcessSheets
from application.entities.checks.rule_rows import TransactionRows
from application.entities.transfers.imports import FileImport, Report
from application.entities.writing import IdempotencyKey, Write, WriteOutcome
from application.ports.whole_database import WholeDatabase
from domain.entities.bodies import EVERY_FIELD
from domain.entities.declaration import Registry
from domain.entities.files.options import ImportOptions
from domain.entities.query.query import Path, Query, SortKey
from domain.entities.sheets import MOST_ASKED_ROWS, BrokenRow, RowError
from domain.errors import FieldError, PayloadTooLarge, ValidationError
from tests.contracts.entities.writing.test_writing import ADA, HERE, THERE, Desk, asking
from tests.library import Condition, Genre, Loan, Pick, Seat
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import HUNG_AFTER, until

UPSERT = ImportOptions(mode="upsert")
TURNS_OF_WHO_WAITS = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"""

LOCK_SHELF = "SELECT id FROM shelves WHERE id = $1 FOR UPDATE SKIP LOCKED"


@dataclass(frozen=True)
class Imports:
    desk: Desk

    @property
    def database(self) -> WholeDatabase:
        database: WholeDatabase = self.desk.writing.database  # type: ignore[assignment]
        return database

    async def run(
        self,
        plural: str,
        lines: Sequence[str],
        options: ImportOptions | None = None,
        idempotency_key: IdempotencyKey | None = None,
    ) -> WriteOutcome[Report]:
        registry = self.desk.registry
        upkeep = MemoryUpkeep(MemoryDatabase(registry, CountingIds()))
        importing = FileImport(self.database, registry, MovableClock(), ProcessSheets(), upkeep)
        write = Write(caller=ADA, scope=HERE, idempotency_key=idempotency_key)
        with tempfile.TemporaryFile() as upload:
            upload.write("\r\n".join(lines).encode())
            async with asyncio.timeout(HUNG_AFTER):
                return await importing.import_(write, registry[plural], upload, options or ImportOptions(), EVERY_FIELD)

    async def report(self, plural: str, lines: Sequence[str], options: ImportOptions | None = None) -> Report:
        return (await self.run(plural, lines, options)).answer

    async def shelf(self, name: str) -> UUID:
        return (await self.desk.create("shelves", name=name)).id

    async def remove(self, code: str) -> None:
        rows = {row["code"]: UUID(row["id"]) for row in await self.rows()}
        await self.desk.crud.delete(Write(caller=ADA, scope=HERE), self.desk.registry["seats"], rows[code], None)

    async def rows(self) -> list[dict[str, Any]]:
        """All seats as they are shown, by their codes."""
        query = Query(sort=(SortKey(Path((), "code"), descending=False),))
        async with self.database.read_only(HERE) as read:
            page = await read.records.page(self.desk.registry["seats"], query)
        rows: list[dict[str, Any]] = json.loads(bytes(page.items))
        return rows

    async def seats(self) -> dict[str, tuple[str, list[str]]]:
        """Shelf and history, the newest entry first, of each seat by its code."""
        model, rows = self.desk.registry["seats"], await self.rows()
        async with self.database.read_only(HERE) as read:
            histories = [await read.history.page(model, UUID(row["id"]), 0, 10) for row in rows]
        return {
            row["code"]: (row["shelfId"], [entry.action for entry in entries])
            for row, (entries, _) in zip(rows, histories, strict=True)
        }


@pytest.fixture
def imports(library: WholeDatabase, library_registry: Registry) -> Imports:
    return Imports(Desk(library, library_registry))


def refused(*rows: int, message: str, field: str = "shelfId") -> tuple[RowError, ...]:
    return tuple(BrokenRow.on(row, [FieldError(field, message)]) for row in rows)


def counted(imported: int, skipped: int, failed: int, errors: tuple[RowError, ...]) -> Report:
    return Report(imported=imported, skipped=skipped, failed=failed, errors=errors)


async def test_a_row_finds_those_before_it_and_none_behind_it(imports: Imports) -> None:
    volume = await imports.desk.create("volumes", title="T")
    lines = ["volumeId,borrower", *(f"{volume.id},{name}" for name in ("Ada", "Bo", "Cy", "Di"))]
    report = await imports.report("loans", lines)
    assert report == counted(2, 0, 2, refused(4, 5, message="is lent twice already", field="volumeId"))
    async with asking(imports.desk) as rows:
        assert sorted(loan.borrower for loan in await rows.all(Loan)) == ["Ada", "Bo"]


async def test_the_rule_of_an_imported_row_reads_stored_rows(imports: Imports) -> None:
    worn = await imports.desk.create("volumes", title="T", condition=Condition.WORN)
    report = await imports.report("loans", ["volumeId,borrower", f"{worn.id},Ada"])
    assert report == counted(0, 0, 1, refused(2, message="what is worn is not lent", field="volumeId"))


async def test_other_errors_of_a_file_are_reported_in_the_order_of_its_rows(imports: Imports) -> None:
    shelf, other = await imports.shelf("S"), await imports.shelf("O")
    lines = ["code,shelfId", f"A,{shelf}", f"B,{other}", f",{shelf}", f"C,{shelf}", f"D,{HERE.id}", f"E,{shelf}"]
    report = await imports.report("seats", [*lines, f"A,{other}", f"E,{other}"])
    assert [(error.row, error.details[0].field) for error in report.errors] == [
        (4, "code"),
        (6, "shelfId"),
        (7, "shelfId"),
    ]
    # the unique value of the row that was refused is free for the last one
    assert (report.imported, report.skipped_rows, report.failed) == (4, (8,), 3)
    created = ["created"]
    seats = {"A": (shelf, created), "B": (other, created), "C": (shelf, created), "E": (other, created)}
    assert await imports.seats() == {code: (str(place), history) for code, (place, history) in seats.items()}


async def test_an_upsert_asks_about_changed_rows_and_new_ones(imports: Imports) -> None:
    shelf, other = await imports.shelf("S"), await imports.shelf("O")
    await imports.report("seats", ["code,shelfId", f"A,{shelf}", f"B,{shelf}", f"C,{other}", f"D,{other}"])
    moves = [f"C,{shelf}", f"A,{other}", f"D,{shelf}", f"E,{shelf}", f"F,{other}", f"F,{shelf}"]
    report = await imports.report("seats", ["code,shelfId", *moves], UPSERT)
    assert report.errors == (*refused(2, 3, 4, message="is full meanwhile"), *refused(5, 6, message="is full"))
    assert (report.imported, report.skipped_rows, report.failed) == (0, (7,), 5)
    assert [history for _, history in (await imports.seats()).values()] == [["created"]] * 4
    await imports.remove("A")
    report = await imports.report("seats", ["code,shelfId", *moves], UPSERT)
    # C takes the place that A left, and A, which is new now, the one that C left
    assert (report.imported, report.skipped_rows, report.failed) == (2, (7,), 3)
    seats = await imports.seats()
    assert {code: place for code, (place, _) in seats.items()} == {
        "A": str(other),
        "B": str(shelf),
        "C": str(shelf),
        "D": str(other),
    }
    assert [seats[code][1] for code in "AC"] == [["created"], ["changed", "created"]]


@pytest.mark.parametrize("options", [ImportOptions(dry_run=True), ImportOptions(atomic=True)], ids=["dry", "atomic"])
async def test_a_dry_run_and_a_refused_file_store_nothing(imports: Imports, options: ImportOptions) -> None:
    shelf = await imports.shelf("S")
    lines = ["code,shelfId", *(f"{code},{shelf}" for code in "ABC")]
    if options.atomic:
        with pytest.raises(ValidationError) as caught:
            await imports.report("seats", lines, options)
        assert [(fault.field, fault.message) for fault in caught.value.fields] == [("row 4", "shelfId: is full")]
    else:
        report = await imports.report("seats", lines, options)
        assert report.header is not None
        assert [column.field for column in report.header.columns] == ["code", "shelfId"]
        assert msgspec.structs.replace(report, header=None) == counted(2, 0, 1, refused(4, message="is full"))
    assert await imports.seats() == {}


async def test_a_repeated_request_is_answered_with_the_first_report(imports: Imports) -> None:
    shelf = await imports.shelf("S")
    lines, key = ["code,shelfId", *(f"{code},{shelf}" for code in "ABC")], IdempotencyKey("k", "f")
    first, second = [await imports.run("seats", lines, idempotency_key=key) for _ in range(2)]
    assert (first.is_replayed, second.is_replayed) == (False, True)
    assert msgspec.json.encode(second.answer) == msgspec.json.encode(first.answer)
    assert len(await imports.seats()) == first.answer.imported == 2


async def test_rows_that_refer_to_rows_of_all_tenants_are_counted_in_their_tenant(imports: Imports) -> None:
    genre = await imports.desk.create("genres", name="G")
    for _ in range(2):
        await imports.desk.create("picks", THERE, genre_id=genre.id)
    report = await imports.report("picks", ["genreId", *[str(genre.id)] * 3])
    assert report == counted(2, 0, 1, refused(4, message="is picked twice already", field="genreId"))


async def test_imports_at_once_let_in_no_more_than_the_rule_allows(
    postgres_library: PostgresDatabase, library_registry: Registry
) -> None:
    imports = Imports(Desk(postgres_library, library_registry))
    genres = [(await imports.desk.create("genres", name=f"G {number}")).id for number in range(6)]
    volumes = [(await imports.desk.create("volumes", title=f"T {number}")).id for number in range(6)]
    picks, loans = [str(genre) for genre in genres], [f"{volume},Ada" for volume in volumes]
    reports = await asyncio.gather(
        *(imports.report("picks", ["genreId", *lines]) for lines in (picks, picks[::-1], picks)),
        *(imports.report("loans", ["volumeId,borrower", *lines]) for lines in (loans, loans[::-1], loans)),
    )
    assert sum(report.imported for report in reports[:3]) == sum(report.imported for report in reports[3:]) == 12
    async with asking(imports.desk) as rows:
        assert (await rows.count(Pick), await rows.count(Loan)) == (12, 12)


async def test_turns_for_rows_in_several_columns_are_taken_in_one_order(
    postgres_library: PostgresDatabase, library_registry: Registry
) -> None:
    imports = Imports(Desk(postgres_library, library_registry))
    first, second = [(await imports.desk.create("genres", name=name)).id for name in "GH"]
    taken: list[int] = []
    for genre, after in ((first, second), (second, first)):
        async with postgres_library.transaction(HERE) as tx:
            await TransactionRows(tx.records, library_registry).get(Genre, after)
            importing = asyncio.create_task(imports.report("picks", ["genreId,afterId", f"{genre},{after}"]))
            await until(partial(tx.connection.fetchval, SOMEBODY_WAITS))
            taken.append(await tx.connection.fetchval(TURNS_OF_WHO_WAITS))
        assert (await importing).imported == 1
    # whichever comes first is taken, whatever its column: two imports do not wait for each other
    assert sorted(taken) == [0, 1]


async def test_rows_referenced_by_stored_rows_are_locked_before_the_first_rule(
    postgres_library: PostgresDatabase, library_registry: Registry
) -> None:
    imports = Imports(Desk(postgres_library, library_registry))
    first, last = [await imports.shelf(name) for name in "ST"]
    await imports.report("seats", ["code,shelfId", f"A,{first}", f"B,{last}"])
    async with postgres_library.transaction(HERE) as tx, postgres_library.transaction(HERE) as other:
        await tx.connection.fetch(LOCK_SHELF, last)
        importing = asyncio.create_task(imports.report("seats", ["code", "B", "A"], UPSERT))
        await until(partial(tx.connection.fetchval, SOMEBODY_WAITS))
        assert await other.connection.fetch(LOCK_SHELF, first) == []
    assert (await importing).imported == 2


async def test_a_file_of_more_rows_than_are_written_one_by_one_is_refused(imports: Imports) -> None:
    shelf = await imports.shelf("S")
    lines = ["code,shelfId", *(f"C{number},{shelf}" for number in range(MOST_ASKED_ROWS + 1))]
    with pytest.raises(PayloadTooLarge, match="a file may have at most 10000 rows"):
        await imports.report("seats", lines)
    async with asking(imports.desk) as rows:
        assert await rows.count(Seat) == 0
