"""Figures of the store of files, missing contents, and the availability of the store."""

import asyncio
import logging
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest

from adapters.memory.clock import MovableClock
from adapters.memory.entities.attachments.objects import MemoryFileStore
from application.entities.attachments.availability import CHECKED_EVERY, FileAvailability
from application.entities.attachments.watched_store import FileFigures, WatchedStore
from application.ports.entities.attachments import ObjectMissing, StoreUnavailable
from domain.entities.attachments.keys import file_key
from domain.errors import PayloadTooLarge
from tests.builders import NOW, new_id

TENANT = UUID(int=1)
CONTENT = b"x" * 300_000


async def read(store: WatchedStore, key: str) -> bytes:
    async with store.open(key) as pieces:
        return b"".join([piece async for piece in pieces])


async def test_bytes_and_errors_of_the_store_are_counted(tmp_path: Path) -> None:
    memory, figures, key = MemoryFileStore(), FileFigures(), file_key(TENANT, new_id(), NOW)
    store = WatchedStore(memory, figures)
    path = tmp_path / "content"
    path.write_bytes(CONTENT)  # a test
    await store.put(key, path, "image/png")
    assert await read(store, key) == CONTENT
    memory.is_away = True
    with pytest.raises(StoreUnavailable):
        await store.put(key, path, "image/png")
    with pytest.raises(StoreUnavailable):
        await read(store, key)
    with pytest.raises(StoreUnavailable):
        await store.delete([key])
    with pytest.raises(StoreUnavailable):
        [found async for found in store.keys("")]
    load = figures.load()
    assert (load.bytes_in, load.bytes_out, load.store_errors) == (300_000, 300_000, 4)


async def test_a_missing_content_is_an_error_and_a_missing_thumbnail_is_not(caplog: pytest.LogCaptureFixture) -> None:
    figures, file_id = FileFigures(), new_id()
    store = WatchedStore(MemoryFileStore(), figures)
    with caplog.at_level(logging.ERROR), pytest.raises(ObjectMissing):
        await read(store, file_key(TENANT, file_id, NOW, thumbnail="small"))
    assert (figures.store_errors, caplog.records) == (0, [])
    key = file_key(TENANT, file_id, NOW)
    with caplog.at_level(logging.ERROR), pytest.raises(ObjectMissing):
        await read(store, key)
    assert figures.store_errors == 1
    assert [record.args for record in caplog.records] == [(str(file_id), key)]


def test_refusals_are_counted_by_error_code() -> None:
    figures = FileFigures()
    with figures.upload():
        pass
    for _ in range(2):
        with pytest.raises(PayloadTooLarge), figures.upload():
            raise PayloadTooLarge
    assert figures.load().refusals == {"PAYLOAD_TOO_LARGE": 2}


@dataclass
class HangingStore(MemoryFileStore):
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    asked: int = 0

    async def ensure_available(self) -> None:
        self.asked += 1
        await self.may_answer.wait()
        await super().ensure_available()


async def test_the_store_is_asked_at_intervals() -> None:
    store, clock = HangingStore(), MovableClock(NOW)
    store.may_answer.set()
    availability = FileAvailability(store, clock)
    assert [await availability.is_available() for _ in range(3)] == [True] * 3
    store.is_away = True
    assert await availability.is_available()
    clock.move(CHECKED_EVERY)
    assert not await availability.is_available()
    assert store.asked == 2
    assert await FileAvailability(None, clock).is_available() is None


async def test_a_store_that_hangs_is_unavailable_and_asked_once() -> None:
    store, clock = HangingStore(), MovableClock(NOW)
    availability = FileAvailability(store, clock)
    for _ in range(2):
        assert not await availability.is_available()
        clock.move(CHECKED_EVERY)
    assert store.asked == 1
    store.may_answer.set()
    assert await availability.is_available()
