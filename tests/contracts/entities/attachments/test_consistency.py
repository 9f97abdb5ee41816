"""The store compared with the entries of files, and the removal of unused files, on both databases."""

from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.memory.entities.attachments.objects import MemoryFileStore
from adapters.memory.upkeep import MemoryUpkeep
from application.entities.attachments.consistency import FileConsistency
from application.entities.attachments.unused_files import UnusedFileRemoval
from application.ports.entities.attached_files import UnusedFiles
from application.ports.whole_database import Transaction
from domain.entities.attachments.files import ATTACHED_WITHIN, WRITTEN_WITHIN
from domain.entities.attachments.keys import file_key
from tests.builders import NOW, new_id
from tests.contracts.entities.attachments.conftest import EVERY, Desk
from tests.contracts.entities.attachments.entities import REGISTRY


@pytest.fixture
def content(tmp_path: Path) -> Path:
    path = tmp_path / "content"
    path.write_bytes(b"content")
    return path


def key_of(desk: Desk, file_id: UUID) -> str:
    return file_key(desk.tenant.id, file_id, NOW)


async def test_the_comparison_finds_both_kinds_of_differences(desk: Desk, content: Path) -> None:
    store = MemoryFileStore()
    whole, without = await desk.file(), await desk.file()
    unknown = key_of(desk, new_id())
    for key in (key_of(desk, whole), f"{key_of(desk, whole)}.of-old-declaration", unknown):
        await store.put(key, content, "image/png")
    desk.clock.move(timedelta(seconds=1))
    consistency = FileConsistency(desk.database, store, desk.clock)
    found = await consistency.compare()
    assert [file.id for file in found.missing if file.tenant_id == desk.tenant.id] == [without]
    assert found.unknown == [unknown]
    await consistency.repair(found)
    assert (await consistency.compare()).unknown == []


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
