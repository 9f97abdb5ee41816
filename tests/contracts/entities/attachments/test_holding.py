"""Rows hold files: which files a row may hold, and what releases them."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from domain.entities.attachments.files import ATTACHED_WITHIN
from domain.errors import ValidationError
from tests.builders import NOW, new_id
from tests.contracts.entities.attachments.conftest import Desk

LATER = NOW + timedelta(days=400)


async def test_a_row_holds_a_temporary_file_of_its_writer(desk: Desk) -> None:
    photo = await desk.file()
    row = await desk.add(photo_id=photo)
    assert await desk.holds(row, photo)
    shown = await desk.get(row, include="photo")
    assert shown["photoId"] == str(photo)
    assert shown["photo"] == {
        "id": str(photo),
        "name": "photo.png",
        "type": "image/png",
        "size": 10,
        "sha256": "ab" * 32,
        "width": None,
        "height": None,
        "sizes": ["small"],
    }


async def test_a_change_attaches_a_file_and_releases_the_previous_one(desk: Desk) -> None:
    before, after = await desk.file(), await desk.file()
    row = await desk.add(photo_id=before)
    changed = await desk.change(row, photo_id=after)
    assert changed["photoId"] == str(after)
    assert (await desk.holds(row, before), await desk.holds(row, after)) == (False, True)


async def test_null_releases_the_file(desk: Desk) -> None:
    photo = await desk.file()
    row = await desk.add(photo_id=photo)
    await desk.change(row, photo_id=None)
    assert not await desk.holds(row, photo)


async def test_a_client_can_send_back_the_file_that_it_has_read(desk: Desk) -> None:
    photo = await desk.file()
    row = await desk.add(photo_id=photo)
    await desk.of_another_user().change(row, photo_id=photo, code="renamed")
    assert await desk.holds(row, photo)


async def test_a_released_file_can_be_attached_again_to_the_same_row_only(desk: Desk) -> None:
    photo = await desk.file()
    row, other = await desk.add(photo_id=photo), await desk.add()
    await desk.change(row, photo_id=None)
    await _refuses(desk, other, photo)
    await desk.change(row, photo_id=photo)
    assert await desk.holds(row, photo)


async def test_a_list_of_files_keeps_its_order_and_releases_what_it_omits(desk: Desk) -> None:
    plans = [await desk.file("items.plans") for _ in range(3)]
    row = await desk.add(plan_ids=plans[:2])
    changed = await desk.change(row, plan_ids=[plans[2], plans[0]])
    assert changed["planIds"] == [str(plans[2]), str(plans[0])]
    held = [await desk.holds(row, plan, "items.plans") for plan in plans]
    assert held == [True, False, True]


async def test_files_that_a_row_may_not_hold_do_not_exist(desk: Desk) -> None:
    row, taken = await desk.add(), await desk.file()
    await desk.add(photo_id=taken)
    stranger = Desk(desk.database, clock=desk.clock)
    refused = {
        "unknown": new_id(),
        "of another tenant": await stranger.file(),
        "of another user": await desk.of_another_user().file(),
        "of another purpose": await desk.file("items.contract"),
        "taken": taken,
    }
    for file_id in refused.values():
        await _refuses(desk, row, file_id)


async def test_a_file_that_has_expired_by_a_microsecond_does_not_exist(desk: Desk) -> None:
    row, photo = await desk.add(), await desk.file()
    desk.clock.move(ATTACHED_WITHIN - timedelta(microseconds=1))
    still = await desk.file()
    await desk.change(row, photo_id=photo)
    desk.clock.move(ATTACHED_WITHIN)
    await _refuses(desk, row, still)


async def test_a_file_that_is_not_completely_written_does_not_exist(desk: Desk) -> None:
    row, file = await desk.add(), desk.written()
    async with desk.database.transaction(desk.tenant) as tx:
        await tx.attached_files.add(file)
    await _refuses(desk, row, file.id)


async def test_a_file_goes_to_one_row_of_a_batch(desk: Desk) -> None:
    photo = await desk.file()
    with pytest.raises(ValidationError) as refused:
        await desk.add_all("items", {"photo_id": photo}, {"photo_id": photo})
    assert [error.field for error in refused.value.fields] == ["items[1].photoId"]
    row = await desk.add(photo_id=photo)
    assert await desk.holds(row, photo)


async def test_two_rows_cannot_attach_a_file_at_the_same_time(desk: Desk) -> None:
    rows, photo = [await desk.add() for _ in range(5)], await desk.file()
    results = await asyncio.gather(*(desk.change(row, photo_id=photo) for row in rows), return_exceptions=True)
    assert sum(isinstance(result, dict) for result in results) == 1
    assert sum(isinstance(result, ValidationError) for result in results) == 4


async def test_concurrent_changes_of_a_row_leave_no_file_behind(desk: Desk) -> None:
    photos = [await desk.file() for _ in range(8)]
    row = await desk.add(photo_id=photos[0])
    await asyncio.gather(*(desk.change(row, photo_id=photo) for photo in photos[1:]))
    last = UUID((await desk.get(row))["photoId"])
    assert [photo for photo in photos if await desk.holds(row, photo)] == [last]


async def test_a_rolled_back_write_attaches_nothing(desk: Desk) -> None:
    photo = await desk.file()
    await desk.add(code="taken")
    with pytest.raises(Exception, match="code"):
        await desk.add(code="taken", photo_id=photo)
    row = await desk.add(photo_id=photo)
    assert await desk.holds(row, photo)


async def test_a_soft_deleted_row_keeps_its_files_and_a_purged_one_releases_them(desk: Desk) -> None:
    photo, plan = await desk.file(), await desk.file("items.plans")
    row = await desk.add(photo_id=photo, plan_ids=[plan])
    await desk.remove(row)
    assert await desk.holds(row, photo)
    await desk.purge(row)
    assert not await desk.holds(row, photo)
    assert {file.id for file in await desk.unused(LATER)} == {photo, plan}


async def test_a_permanent_deletion_releases_the_files(desk: Desk) -> None:
    scan = await desk.file("notes.scan")
    row = await desk.add("notes", scan_id=scan)
    await desk.remove(row, "notes")
    assert not await desk.holds(row, scan, "notes.scan")


async def test_a_purge_that_cascades_releases_the_files(desk: Desk) -> None:
    shelf, photo = await desk.add("shelves"), await desk.file()
    row = await desk.add(photo_id=photo, shelf_id=shelf)
    await desk.purge(shelf, "shelves")
    assert not await desk.holds(row, photo)


async def _refuses(desk: Desk, row: UUID, file_id: UUID) -> None:
    with pytest.raises(ValidationError) as refused:
        await desk.change(row, photo_id=file_id)
    assert [(error.field, error.message) for error in refused.value.fields] == [
        ("photoId", "refers to nothing that exists")
    ]
