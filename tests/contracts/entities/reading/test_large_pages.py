"""Pages of rows and of histories, and changes of rows, that are too large are refused; those of one row never are."""

from datetime import date, timedelta
from uuid import UUID

import msgspec
import pytest

from application.entities.writing import Write
from application.ports.entities.records import Act, Change, Current, Stored
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import View
from domain.entities.query.responses import LARGEST_PAGE_BYTES
from domain.errors import ValidationError
from tests.builders import NOW
from tests.contracts.entities.reading.test_records_reading import HERE, Shop
from tests.contracts.entities.writing.test_writing import ADA, Desk
from tests.contracts.entities.writing.test_writing import HERE as HERE_OF_DESK

THIRD = "x" * (LARGEST_PAGE_BYTES // 3 + 1)
DAY = date(2026, 5, 1)
WRITE = Write(caller=ADA, scope=HERE_OF_DESK)


@pytest.fixture
def shop(library: WholeDatabase, library_registry: Registry) -> Shop:
    return Shop(library, library_registry)


async def visits(shop: Shop, *notes: str | None) -> list[UUID]:
    """A visit for each note, each of them after the first."""
    plain = {field.name: field.default for field in shop.registry["volumes"].declared if not field.required}
    (volume,) = await shop.add("volumes", [{**plain, "title": "A"}])
    days = (DAY + timedelta(days=number) for number in range(len(notes)))
    rows = [
        {"volume_id": volume, "day": day, "note": note, "after_id": None} for day, note in zip(days, notes, strict=True)
    ]
    return await shop.add("visits", rows)


async def refused(shop: Shop, asked: str) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        await shop.page("visits", asked)
    return [error.field for error in caught.value.fields]


async def test_rows_that_are_too_long_together_are_refused(shop: Shop) -> None:
    first, *_ = await visits(shop, *[THIRD] * 3)
    for asked in ("", "pageSize=3", "sort=day", "count=none", "fields=note", "include=volume", "sort=volume.title"):
        assert await refused(shop, asked) == ["pageSize"]
    # the row that only tells of a next page is no part of the answer
    for asked in ("pageSize=2", "pageSize=1", "fields=day", "page=2&pageSize=2"):
        assert (await shop.page("visits", asked)).total == 3
    assert await shop.get("visits", first, View()) is not None


async def test_rows_that_are_included_count_too(shop: Shop) -> None:
    (first,) = await visits(shop, THIRD)
    volume = msgspec.json.decode((await shop.page("visits")).items)[0]["volumeId"]
    rows = [{"volume_id": UUID(volume), "day": DAY, "note": None, "after_id": first}] * 3
    await shop.add("visits", rows)
    assert await refused(shop, "include=after") == ["pageSize"]
    assert (await shop.page("visits", "include=after&pageSize=2")).length == 2
    assert (await shop.page("visits")).length == 4


async def test_a_single_row_above_the_page_limit_is_a_page(shop: Shop) -> None:
    await visits(shop, THIRD * 4, None)
    assert (await shop.page("visits", "pageSize=1&sort=day")).length == 1
    assert await refused(shop, "pageSize=2") == ["pageSize"]


async def test_lines_of_a_history_that_are_too_long_together_are_refused(
    library: WholeDatabase, library_registry: Registry
) -> None:
    desk, model = Desk(library, library_registry), library_registry["volumes"]
    volume = await desk.create("volumes", title="a")
    # from a half to a half: each line has both
    for title in ("w", "x", "y", "z"):
        await desk.crud.update(WRITE, model, Change(volume.id, {"title": title + THIRD[1 : len(THIRD) // 2]}))
    async with library.read_only(HERE_OF_DESK) as read:
        with pytest.raises(ValidationError) as caught:
            await read.history.page(model, volume.id, 0, 20)
    assert [error.field for error in caught.value.fields] == ["pageSize"]
    async with library.read_only(HERE_OF_DESK) as read:
        assert [(await read.history.page(model, volume.id, n, 1))[0][0].version for n in range(5)] == [5, 4, 3, 2, 1]


async def changed(shop: Shop, *changes: Change) -> list[Stored]:
    async with shop.database.transaction(HERE) as tx:
        return await tx.records.change(shop.registry["visits"], changes, Act(by=None, at=NOW))


async def seen(shop: Shop, *changes: Change) -> dict[UUID, Current]:
    """Rows as a rule sees them before they are changed."""
    async with shop.database.transaction(HERE) as tx:
        return await tx.records.current(shop.registry["visits"], [change.id for change in changes], is_bounded=True)


async def test_rows_that_are_too_long_together_are_not_changed_together(shop: Shop) -> None:
    rows = await visits(shop, *[THIRD] * 3)
    changes = [Change(row_id, {"day": DAY + timedelta(days=50 + n)}) for n, row_id in enumerate(rows)]
    for ask in (changed, seen):
        with pytest.raises(ValidationError) as caught:
            await ask(shop, *changes)
        assert [error.field for error in caught.value.fields] == ["items"]
    assert [row["version"] for row in await shop.items("visits", "fields=version")] == [1, 1, 1]
    assert [row.version for row in await changed(shop, *changes[:2])] == [2, 2]
    assert list(await seen(shop, *changes[1:])) == sorted(rows[1:])
    # the rows are measured as they are going to be answered
    assert len(await changed(shop, *(Change(row_id, {"note": None}) for row_id in rows))) == 3


async def test_a_single_row_above_the_page_limit_can_be_changed(shop: Shop) -> None:
    (first,) = await visits(shop, THIRD * 4)
    change = Change(first, {"day": DAY + timedelta(days=50)})
    assert list(await seen(shop, change)) == [first]
    assert [row.version for row in await changed(shop, change)] == [2]
