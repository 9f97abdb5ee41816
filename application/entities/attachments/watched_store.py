"""Store of files that counts its traffic and its failures."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from application.ports.entities.attachments import FileStore, ObjectMissing, StoredObject, StoreUnavailable
from application.ports.load import FileLoad
from domain.entities.attachments.keys import key_of_file
from domain.errors import Error

log = logging.getLogger(__name__)


@dataclass
class FileFigures:
    """Figures of this process for operators: see ``FileLoad``."""

    thumbnails_waiting: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    store_errors: int = 0
    refusals: Counter[str] = field(default_factory=Counter)

    def load(self) -> FileLoad:
        return FileLoad(
            thumbnails_waiting=self.thumbnails_waiting,
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
            store_errors=self.store_errors,
            refusals=dict(self.refusals),
        )

    @contextmanager
    def upload(self) -> Iterator[None]:
        """Count the refusal of an upload in the block."""
        try:
            yield
        except Error as refusal:
            self.refusals[refusal.code] += 1
            raise

    @contextmanager
    def waiting_thumbnail(self) -> Iterator[None]:
        self.thumbnails_waiting += 1
        try:
            yield
        finally:
            self.thumbnails_waiting -= 1


@dataclass(frozen=True)
class WatchedStore:
    """Passes all calls to ``store``. A missing content of a file is an error of the store, and logged."""

    store: FileStore
    figures: FileFigures

    async def put(self, key: str, path: Path, media_type: str) -> None:
        with self._failures():
            await self.store.put(key, path, media_type)
        self.figures.bytes_in += _size(path)

    @asynccontextmanager
    async def open(self, key: str, start: int = 0, length: int | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        with self._failures(key):
            async with self.store.open(key, start, length) as pieces:
                yield self._counted(pieces)

    async def delete(self, keys: Sequence[str]) -> None:
        with self._failures():
            await self.store.delete(keys)

    async def link(self, key: str, *, lifetime: timedelta, media_type: str, disposition: str) -> str | None:
        with self._failures():
            return await self.store.link(key, lifetime=lifetime, media_type=media_type, disposition=disposition)

    async def ensure_available(self) -> None:
        await self.store.ensure_available()

    async def keys(self, folder: str) -> AsyncIterator[StoredObject]:
        with self._failures():
            async for stored in self.store.keys(folder):
                yield stored

    @contextmanager
    def _failures(self, opened: str | None = None) -> Iterator[None]:
        try:
            yield
        except StoreUnavailable:
            self.figures.store_errors += 1
            raise
        except ObjectMissing:
            # Thumbnails are created when they are missing.
            if opened is not None and key_of_file(opened) == opened:
                self.figures.store_errors += 1
                file_id = opened.rpartition("/")[2]
                log.error("The store has no content of the file %s: its key is %s.", file_id, opened)  # noqa: TRY400  # the key says all
            raise

    async def _counted(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in pieces:
            self.figures.bytes_out += len(piece)
            yield piece


def _size(path: Path) -> int:
    return path.stat().st_size
