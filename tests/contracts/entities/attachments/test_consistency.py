"""The store compared with the entries of files, and the removal of unused files, on both databases."""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.memory.entities.attachments.objects import MemoryFileStore
from adapters.memory.upkeep import MemoryUpkeep
from adapters.postgres.database import PostgresDatabase
from application.entities.attachments.consistency import FileConsistency
from application.entities.attachments.unused_files import UnusedFileRemoval
from application.ports.entities.attached_files import UnusedFiles
from application.ports.whole_database import Transaction
from domain.entities.attachments.files import ATTACHED_WITHIN, WRITTEN_WITHIN, StoredFile
from domain.entities.attachments.keys import file_key
from domain.entities.attachments.marks import FILES
from tests.builders import NOW, new_id
from tests.contracts.entities.attachments.conftest import EVERY, Desk
from tests.contracts.entities.attachments.entities import REGISTRY

CONTENT = b"content"
SIZE = len(CONTENT)


@pytest.fixture
def content(tmp_path: Path) -> Path:
    path = tmp_path / "content"
    path.write_bytes(CONTENT)
    return path


def key_of(desk: Desk, file_id: UUID) -> str:
    return file_key(desk.tenant.id, file_id, NOW)


async def test_the_comparison_finds_both_kinds_of_differences(desk: Desk, content: Path) -> None:
    store = MemoryFileStore()
    whole, without = await desk.file(size=SIZE), await desk.file()
    unknown, foreign = key_of(desk, new_id()), ["letter.txt", f"{new_id()}/2026/13/{new_id()}"]
    for key in (key_of(desk, whole), f"{key_of(desk, whole)}.of-old-declaration", unknown, *foreign):
        await store.put(key, content, "image/png")
    desk.clock.move(timedelta(seconds=1))
    consistency = FileConsistency(desk.database, store, desk.clock)
    found = await consistency.compare()
    assert ids(desk, found.missing) == [without]
    assert (found.unknown, found.foreign) == ([unknown], sorted(foreign))
    assert not found.is_consistent
    await consistency.repair(found)
    again = await consistency.compare()
    assert (again.unknown, again.foreign) == ([], sorted(foreign))


async def test_the_comparison_finds_other_sizes_and_digests(desk: Desk, content: Path) -> None:
    store = MemoryFileStore()
    same, other_size, other_digest = await desk.file(size=SIZE), await desk.file(), await desk.file(size=SIZE)
    for file_id in (same, other_size, other_digest):
        await store.put(key_of(desk, file_id), content, "image/png")
    await spoil(desk, same, sha256=hashlib.sha256(CONTENT).hexdigest())
    desk.clock.move(timedelta(seconds=1))
    consistency = FileConsistency(desk.database, store, desk.clock)
    assert ids(desk, (await consistency.compare()).altered) == [other_size]
    found = await consistency.compare(digests=True)
    assert set(ids(desk, found.altered)) == {other_size, other_digest}
    assert ids(desk, found.missing) == []


async def test_the_comparison_finds_files_with_another_holder_than_the_row_that_names_them(desk: Desk) -> None:
    photo, plan, lost, moved, right = [
        await desk.file(purpose)
        for purpose in ("items.photo", "items.plans", "items.photo", "items.plans", "notes.scan")
    ]
    await desk.add(photo_id=photo, plan_ids=[plan])
    await desk.add(photo_id=lost, plan_ids=[moved])
    await desk.add("notes", scan_id=right)
    stranger = await desk.file()

    async def found() -> set[UUID]:
        async with desk.database.read_only(EVERY) as read:
            return set(ids(desk, await unused(read).misheld(1_000)))

    assert await found() == set()
    await spoil(desk, lost, state="released")
    await spoil(desk, moved, row_id=new_id())
    await spoil(desk, plan, purpose="items.photo")
    await spoil(desk, stranger, state="held", entity="items", row_id=new_id())
    assert await found() == {lost, moved, plan, stranger}
    async with desk.database.read_only(EVERY) as read:
        assert len(await unused(read).misheld(1)) == 1
    # Other tests use the database, too.
    await spoil(desk, lost, state="held")
    await spoil(desk, stranger, state="temporary", entity=None, row_id=None)


async def test_the_comparison_finds_tenants_with_another_usage(desk: Desk) -> None:
    async def found() -> bool:
        async with desk.database.read_only(EVERY) as read:
            return desk.tenant.id in await unused(read).miscounted(1_000)

    photo = await desk.file(size=5)
    async with desk.database.transaction(desk.tenant) as tx:
        await tx.attached_files.add(desk.written())
    assert not await found()
    await spoil(desk, photo, size=6)
    assert await found()


async def spoil(desk: Desk, file_id: UUID, **values: object) -> None:
    """Change the entry of a file as no use case does."""
    if isinstance(desk.database, MemoryDatabase):
        async with desk.database.changing() as store:
            store.tables[FILES][file_id] = {**store.tables[FILES][file_id], **values}
        return
    assert isinstance(desk.database, PostgresDatabase)
    async with desk.database.transaction(desk.tenant) as tx:
        for name, value in values.items():
            await tx.connection.execute(f"UPDATE files SET {name} = $2 WHERE id = $1", file_id, value)


def ids(desk: Desk, files: Sequence[StoredFile]) -> list[UUID]:
    return [file.id for file in files if file.tenant_id == desk.tenant.id]


async def test_pages_of_files_hold_each_file_once(desk: Desk) -> None:
    ids = sorted([await desk.file() for _ in range(3)])
    found: list[UUID] = []
    after = (desk.tenant.id, UUID(int=0))
    async with desk.database.read_only(EVERY) as tx:
        while page := await unused(tx).page(after, 2):
            found += [file.id for file in page if file.tenant_id == desk.tenant.id]
            after = page[-1].tenant_id, page[-1].id
    assert found == ids


def unused(tx: Transaction) -> UnusedFiles:
    return tx.unused_files


async def test_unused_files_lose_their_content_and_their_entry(desk: Desk, content: Path) -> None:
    store = MemoryFileStore()
    upkeep = MemoryUpkeep(MemoryDatabase(REGISTRY, CountingIds()))
    removal = UnusedFileRemoval(desk.database, store, upkeep, desk.clock, timedelta(days=7))
    held, forgotten = await desk.file(), await desk.file()
    row = await desk.add(photo_id=held)
    for file_id in (held, forgotten):
        await store.put(key_of(desk, file_id), content, "image/png")
    desk.clock.move(max(ATTACHED_WITHIN, WRITTEN_WITHIN))
    while await removal.remove():
        pass
    assert {stored.key async for stored in store.keys(str(desk.tenant.id))} == {key_of(desk, held)}
    await desk.change(row, photo_id=None)
    desk.clock.move(timedelta(days=7))
    while await removal.remove():
        pass
    assert [stored.key async for stored in store.keys(str(desk.tenant.id))] == []
    async with desk.database.read_only(desk.tenant) as tx:
        assert await tx.attached_files.used() == 0
