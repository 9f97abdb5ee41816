"""Thumbnails are created once, one at a time, and never for more requests than may wait."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from adapters.memory.entities.attachments.objects import MemoryFileStore
from application.entities.attachments.thumbnails import MOST_WAITING, Thumbnails
from application.ports.entities.attachments import ImageUnreadable
from domain.entities.attachments.files import StoredFile
from domain.entities.attachments.keys import file_key
from domain.errors import NotFound, ServiceUnavailable

NOW = datetime(2026, 11, 28, 8, tzinfo=UTC)
BOX = (128, 128)
TENANT, OTHER = UUID(int=1), UUID(int=2)


@dataclass
class SlowImages:
    """Thumbnails that a test releases; ``made`` are the sources that were read."""

    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    made: list[bytes] = field(default_factory=list)
    is_broken: bool = False

    async def thumbnail(self, source: Path, target: Path, box: tuple[int, int]) -> None:
        self.made.append(source.read_bytes())  # noqa: ASYNC240  # a test
        await self.may_end.wait()
        if self.is_broken:
            raise ImageUnreadable
        target.write_bytes(b"small " + source.read_bytes())  # noqa: ASYNC240  # a test


@dataclass
class Desk:
    store: MemoryFileStore = field(default_factory=MemoryFileStore)
    images: SlowImages = field(default_factory=SlowImages)

    def __post_init__(self) -> None:
        self.thumbnails = Thumbnails(self.store, self.images)

    def file(self, content: bytes, tenant: UUID = TENANT) -> StoredFile:
        stored = StoredFile(
            tenant_id=tenant,
            id=uuid4(),
            purpose="products.photo",
            name="a.png",
            type="image/png",
            size=len(content),
            sha256="",
            state="held",
            since=NOW,
            created_at=NOW,
            created_by=None,
        )
        self.store.objects[file_key(tenant, stored.id, NOW)] = content
        return stored

    def asked(self, file: StoredFile) -> "asyncio.Task[bytes]":
        return asyncio.create_task(self.thumbnails.content(file, "small", BOX))


async def until_idle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_the_folder_for_temporary_files_is_created(tmp_path: Path) -> None:
    desk = Desk()
    thumbnails = Thumbnails(desk.store, desk.images, spool=tmp_path / "data" / "tmp")
    desk.images.may_end.set()
    assert await thumbnails.content(desk.file(b"photo"), "small", BOX) == b"small photo"
    assert list((tmp_path / "data" / "tmp").iterdir()) == []


async def test_requests_at_once_create_one_thumbnail_which_is_stored() -> None:
    desk = Desk()
    file = desk.file(b"photo")
    asked = [desk.asked(file) for _ in range(5)]
    await until_idle()
    desk.images.may_end.set()
    assert await asyncio.gather(*asked) == [b"small photo"] * 5
    assert await desk.thumbnails.content(file, "small", BOX) == b"small photo"
    assert desk.images.made == [b"photo"]
    assert desk.store.objects[file_key(TENANT, file.id, NOW, thumbnail="small")] == b"small photo"


async def test_a_client_that_leaves_does_not_stop_the_thumbnail_of_another() -> None:
    desk = Desk()
    file = desk.file(b"photo")
    first, second = desk.asked(file), desk.asked(file)
    await until_idle()
    first.cancel()
    desk.images.may_end.set()
    assert await second == b"small photo"


async def test_a_tenant_waits_for_few_thumbnails_and_another_tenant_is_not_refused() -> None:
    desk = Desk()
    asked = [desk.asked(desk.file(b"photo")) for _ in range(MOST_WAITING + 1)]
    await until_idle()
    with pytest.raises(ServiceUnavailable):
        await desk.thumbnails.content(desk.file(b"one more"), "small", BOX)
    other = desk.asked(desk.file(b"other", OTHER))
    await until_idle()
    assert len(desk.images.made) == 1
    desk.images.may_end.set()
    await asyncio.gather(*asked, other)
    assert len(desk.images.made) == MOST_WAITING + 2
    assert await desk.thumbnails.content(desk.file(b"later"), "small", BOX) == b"small later"


async def test_an_image_that_cannot_be_decoded_is_an_error_each_time() -> None:
    desk = Desk(images=SlowImages(is_broken=True))
    desk.images.may_end.set()
    file = desk.file(b"photo")
    for _ in range(2):
        with pytest.raises(ImageUnreadable):
            await desk.thumbnails.content(file, "small", BOX)
    assert list(desk.store.objects) == [file_key(TENANT, file.id, NOW)]


async def test_a_file_that_the_store_does_not_have_is_not_found() -> None:
    desk = Desk()
    file = desk.file(b"photo")
    desk.store.objects.clear()
    with pytest.raises(NotFound):
        await desk.thumbnails.content(file, "small", BOX)
