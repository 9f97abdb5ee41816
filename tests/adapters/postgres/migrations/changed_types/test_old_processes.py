"""Two declarations on one database: a process with the old one reads and writes columns of the new types."""

import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any

import pytest

from adapters.memory.clock import MovableClock
from adapters.postgres.database import PostgresDatabase
from adapters.system import Uuid7Ids
from application.entities.crud import Crud
from application.entities.writing import RowWriter, Write
from application.ports.entities.records import Change
from application.primary_reads import PrimaryReads
from domain.entities.declaration import Registry
from domain.entities.markers import big, money
from domain.entities.query.query import Count, Path, Query, SortKey
from tests.adapters.postgres.migrations.changed_books import Books, declared
from tests.contracts.entities.writing.test_writing import ADA, HERE
from tests.servers.databases import named

MOMENTS: list[tuple[datetime, str]] = [
    (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01"),
    (datetime(2026, 1, 1, 10, tzinfo=UTC), "2026-01-01"),
    (datetime(2026, 1, 1, 23, 59, 59, 999999, tzinfo=UTC), "2026-01-01"),
    (datetime(2026, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=5))), "2025-12-31"),
    (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01"),
]
"""Values that the new process writes, and their date in UTC."""
CENTS, MILLS = Annotated[Decimal, money(8, 2)], Annotated[Decimal, money(10, 3)]
OLD = declared([("day", date), ("plain", date), ("pages", int), ("copies", int), ("price", CENTS), ("score", int)])
NEW = declared(
    [
        ("day", datetime),
        ("plain", date),
        ("pages", Annotated[int, big]),
        ("copies", Annotated[Decimal, money(12, 0)]),
        ("price", MILLS),
        ("score", float),
    ]
)
REST = {"plain": date(2026, 1, 2), "pages": 2**40, "copies": Decimal(7), "price": Decimal("1.125"), "score": 7.0}
BY_ID = (SortKey(Path((), "id"), descending=False),)


@pytest.fixture
async def processes(books: Books) -> AsyncIterator[list["Process"]]:
    """A process with the old declaration and one with the new, on tables of the new."""
    await books.start(NEW)
    await books.ask(f"ALTER DATABASE \"{named(books.url)}\" SET timezone TO 'Asia/Tokyo'")
    both = [Process(books.url, OLD), Process(books.url, NEW)]
    for process in both:
        await process.database.open()
    yield both
    for process in both:
        await process.database.close()


class Process:
    def __init__(self, url: str, registry: Registry) -> None:
        self.model = registry["books"]
        self.database = PostgresDatabase(url, registry, Uuid7Ids(), connections=1)
        writer = RowWriter(self.database, registry, MovableClock())
        self.crud = Crud(PrimaryReads(self.database), writer, Uuid7Ids())
        self.write = Write(caller=ADA, scope=HERE)

    async def rows(self) -> list[dict[str, Any]]:
        page = await self.crud.page(HERE, self.model, Query(sort=BY_ID, page_size=50, count=Count.NONE))
        return list(json.loads(bytes(page.items)))

    async def exported(self, form: Any) -> str:
        async with self.database.read_transaction(HERE) as tx:
            query = Query(sort=BY_ID, page_size=50, count=Count.NONE)
            return b"".join([piece async for piece in tx.transfers.pieces(self.model, query, form)]).decode()


@pytest.mark.promise(
    "migrations, under traffic: an old process answers the date of a timestamp that was a date, in rows and exports"
)
async def test_an_old_process_answers_a_date_of_a_column_that_became_a_timestamp(processes: list[Process]) -> None:
    old, new = processes
    for moment, _ in MOMENTS:
        await new.crud.create(new.write, new.model, {"day": moment, **REST})
    days = [day for _, day in MOMENTS]
    assert [row["day"] for row in await old.rows()] == days
    assert [row["day"] for row in json.loads(await old.exported("json"))] == days
    assert [line.split(",")[1] for line in (await old.exported("csv")).splitlines()[1:]] == days
    # The new process, and a date that stays one, are answered as before.
    moments = [f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}" for moment, _ in MOMENTS]
    assert [row["day"].zfill(27) for row in await new.rows()] == [text.zfill(27) for text in moments]
    assert {row["plain"] for row in [*await old.rows(), *await new.rows()]} == {"2026-01-02"}


@pytest.mark.promise(
    "migrations, under traffic: an old process writes a wider column, and answers its numbers with the new digits"
)
async def test_an_old_process_writes_and_reads_wider_columns(processes: list[Process]) -> None:
    old, new = processes
    values: Mapping[str, object] = {**REST, "day": date(2026, 1, 3), "pages": 3, "copies": 4, "score": 5}
    stored = (await old.crud.create(old.write, old.model, {**values, "price": Decimal("1.25")})).answer
    assert json.loads(bytes(stored.body))["day"] == "2026-01-03"
    (row,) = await new.rows()
    assert row["day"] == "2026-01-03T00:00:00.000000Z"
    assert (row["pages"], row["copies"], row["price"], row["score"]) == (3, 4, 1.25, 5)
    await new.crud.update(new.write, new.model, Change(stored.id, {"price": Decimal("1.125"), "pages": 2**40}))
    changed = await old.crud.update(old.write, old.model, Change(stored.id, {"day": date(2026, 1, 4)}))
    row = json.loads(bytes(changed.body))
    assert (row["day"], row["pages"], row["price"], row["score"]) == ("2026-01-04", 2**40, 1.125, 5)
