"""Imports of rows that hold files."""

from uuid import UUID

from tests.builders import new_id
from tests.contracts.entities.attachments.conftest import Desk


def line(number: int, row: UUID, code: str, photo: UUID | None = None, plans: str = "[]") -> str:
    quoted = plans.replace('"', '""')
    return f'{number},{row},{code},,{photo or ""},"{quoted}",\n'


def upserted(number: int, code: str, photo: UUID | None) -> str:
    return f"{number},{new_id()},101000,,,{code},,{photo or ''},[],\n"


async def test_loaded_rows_hold_files_of_the_importer_only(desk: Desk) -> None:
    own, foreign = await desk.file(), await desk.of_another_user().file()
    plan, rows = await desk.file("items.plans"), [new_id() for _ in range(4)]
    text = line(2, rows[0], "a", own, f'["{plan}"]') + line(3, rows[1], "b", foreign)
    text += line(4, rows[2], "c", own) + line(5, rows[3], "d", None, f'["{plan}"]')
    loaded = await desk.load(text)
    assert (loaded.imported, loaded.failed, [error.row for error in loaded.errors]) == (1, 3, [3, 4, 5])
    assert await desk.holds(rows[0], own)
    assert await desk.holds(rows[0], plan, "items.plans")


async def test_a_row_that_is_skipped_holds_no_file(desk: Desk) -> None:
    await desk.add(code="taken")
    photo, row = await desk.file(), new_id()
    loaded = await desk.load(line(2, row, "taken", photo))
    assert (loaded.imported, loaded.skipped) == (0, 1)
    other = await desk.add(photo_id=photo)
    assert await desk.holds(other, photo)


async def test_an_upsert_releases_the_file_that_it_replaces(desk: Desk) -> None:
    before, after, new = await desk.file(), await desk.file(), await desk.file()
    row = await desk.add(code="a", photo_id=before)
    loaded = await desk.load(upserted(2, "a", after) + upserted(3, "b", new), key="code")
    assert (loaded.imported, loaded.failed) == (2, 0)
    assert (await desk.holds(row, before), await desk.holds(row, after)) == (False, True)
    again = await desk.load(upserted(2, "a", after), key="code")
    assert again.imported == 1
    assert await desk.holds(row, after)


async def test_an_upsert_can_clear_a_file(desk: Desk) -> None:
    photo = await desk.file()
    row = await desk.add(code="a", photo_id=photo)
    assert (await desk.load(upserted(2, "a", None), key="code")).imported == 1
    assert not await desk.holds(row, photo)
