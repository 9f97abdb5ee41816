"""Entries of files: quota, temporary files, and the deletion of unused files."""

import asyncio
from datetime import timedelta

import pytest

from application.ports.entities.attached_files import AttachedFiles, UnusedFiles
from application.ports.whole_database import Transaction
from domain.entities.attachments.files import StoredFile
from domain.errors import ServiceUnavailable
from tests.builders import NOW, new_id
from tests.contracts.entities.attachments.conftest import EVERY, Desk

LATER = NOW + timedelta(days=400)


async def complete(desk: Desk, file: StoredFile, quota: int | None) -> bool:
    async with desk.database.transaction(desk.tenant) as tx:
        await files(tx).add(file)
    async with desk.database.transaction(desk.tenant) as tx:
        return await files(tx).complete(file, NOW, quota)


def files(tx: Transaction) -> AttachedFiles:
    return tx.attached_files


def unused(tx: Transaction) -> UnusedFiles:
    return tx.unused_files


async def used(desk: Desk) -> int:
    async with desk.database.read_only(desk.tenant) as tx:
        return await files(tx).used()


async def test_a_file_is_read_by_its_user_while_it_is_temporary(desk: Desk) -> None:
    file = desk.written()
    async with desk.database.transaction(desk.tenant) as tx:
        await files(tx).add(file)
        assert await files(tx).temporary(file.id, desk.user) is None
        assert await files(tx).complete(file, NOW, None)
    async with desk.database.read_only(desk.tenant) as tx:
        found = await files(tx).temporary(file.id, desk.user)
        assert await files(tx).temporary(file.id, new_id()) is None
    assert found is not None
    assert (found.name, found.size, found.sizes, found.state, found.since) == (
        "photo.png",
        10,
        ("small",),
        "temporary",
        NOW,
    )
    async with desk.database.read_only(Desk(desk.database).tenant) as tx:
        assert await files(tx).temporary(file.id, desk.user) is None


async def test_a_file_is_completed_once(desk: Desk) -> None:
    file = desk.written()
    assert await complete(desk, file, None)
    with pytest.raises(ServiceUnavailable):
        async with desk.database.transaction(desk.tenant) as tx:
            await files(tx).complete(file, NOW, None)


async def test_the_quota_is_exact_under_parallel_uploads(desk: Desk) -> None:
    stored = await asyncio.gather(*(complete(desk, desk.written(size=10), 255) for _ in range(50)))
    assert (sum(stored), await used(desk)) == (25, 250)
    assert not await complete(desk, desk.written(size=6), 255)
    assert await complete(desk, desk.written(size=5), 255)


async def test_a_quota_below_the_first_file_stores_nothing(desk: Desk) -> None:
    file = desk.written(size=10)
    assert not await complete(desk, file, 9)
    assert await used(desk) == 0
    async with desk.database.read_only(desk.tenant) as tx:
        assert await files(tx).temporary(file.id, desk.user) is None


async def test_a_discarded_file_frees_its_bytes_when_its_entry_is_forgotten(desk: Desk) -> None:
    file_id = await desk.file(size=7)
    async with desk.database.transaction(desk.tenant) as tx:
        assert await files(tx).discard(file_id, new_id(), NOW) is None
        discarded = await files(tx).discard(file_id, desk.user, NOW)
        assert discarded is not None
        assert discarded.state == "deleting"
        assert await files(tx).discard(file_id, desk.user, NOW) is None
    assert await used(desk) == 7
    async with desk.database.transaction(desk.tenant) as tx:
        await files(tx).forget(file_id)
        await files(tx).forget(file_id)
    assert await used(desk) == 0


async def test_held_and_temporary_files_are_not_forgotten(desk: Desk) -> None:
    held, temporary = await desk.file(), await desk.file()
    row = await desk.add(photo_id=held)
    async with desk.database.transaction(desk.tenant) as tx:
        await files(tx).forget(held)
        await files(tx).forget(temporary)
    assert await desk.holds(row, held)
    async with desk.database.read_only(desk.tenant) as tx:
        assert await files(tx).temporary(temporary, desk.user) is not None
        assert await files(tx).held("items.plans", row, held) is None
        assert await files(tx).held("items.photo", new_id(), held) is None


async def test_unused_files_are_claimed_by_the_age_of_their_state(desk: Desk) -> None:
    writing, temporary, held = desk.written(), await desk.file(), await desk.file()
    released = await desk.file()
    row = await desk.add(photo_id=released)
    await desk.change(row, photo_id=held)
    async with desk.database.transaction(desk.tenant) as tx:
        await files(tx).add(writing)
    before = NOW - timedelta(microseconds=1)
    cases = [
        ((NOW, before, before), {writing.id}, "abandoned"),
        ((before, NOW, before), {temporary}, "deleting"),
        ((before, before, NOW), {released}, "deleting"),
    ]
    for moments, expected, state in cases:
        async with desk.database.transaction(EVERY) as tx:
            claimed = [file for file in await unused(tx).claim(LATER, *moments, 100) if file.row_id in (None, row)]
        ours = [file for file in claimed if file.tenant_id == desk.tenant.id]
        assert ({file.id for file in ours}, {file.state for file in ours}) == (expected, {state})
    assert await desk.holds(row, held)


async def test_a_claimed_file_cannot_be_attached_and_is_claimed_again_after_a_failure(desk: Desk) -> None:
    photo = await desk.file()
    row = await desk.add(photo_id=photo)
    await desk.change(row, photo_id=None)
    (claimed,) = await desk.unused(NOW)
    assert claimed.id == photo
    with pytest.raises(Exception, match=r"photoId|not valid"):
        await desk.change(row, photo_id=photo)
    (again,) = await desk.unused(NOW)
    await desk.forget([again])
    assert await used(desk) == 0
    assert await desk.unused(LATER) == []


async def test_an_abandoned_file_never_counted(desk: Desk) -> None:
    await desk.file(size=5)
    async with desk.database.transaction(desk.tenant) as tx:
        await files(tx).add(desk.written(size=7))
    async with desk.database.transaction(EVERY) as tx:
        claimed = await unused(tx).claim(NOW, NOW, NOW - timedelta(days=1), NOW - timedelta(days=1), 100)
        await unused(tx).forget([file for file in claimed if file.tenant_id == desk.tenant.id])
    assert await used(desk) == 5
