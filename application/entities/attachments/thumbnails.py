"""Thumbnails of files: created at the first request, and stored next to the file."""

import asyncio
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from application.entities.attachments.watched_store import FileFigures
from application.ports.entities.attachments import FileStore, Images, ObjectMissing
from domain.entities.attachments.files import StoredFile
from domain.entities.attachments.keys import file_key
from domain.errors import NotFound, ServiceUnavailable

MOST_WAITING = 2
"""Maximum number of a tenant's thumbnails that wait in a process, in addition to the one that is being created."""
THUMBNAIL_TYPE = "image/webp"


@dataclass(frozen=True)
class Thumbnails:
    """Creates one thumbnail at a time. ``spool`` is a folder for temporary files, None for that of the system."""

    store: FileStore
    images: Images
    spool: Path | None = None
    figures: FileFigures = field(default_factory=FileFigures)
    _lane: asyncio.Lock = field(default_factory=asyncio.Lock)
    _running: dict[str, asyncio.Task[bytes]] = field(default_factory=dict)
    _of_tenants: Counter[UUID] = field(default_factory=Counter)

    async def content(self, file: StoredFile, name: str, box: tuple[int, int]) -> bytes:
        """Return the file's thumbnail of this name.

        Raises UnprocessableEntity if the image cannot be decoded, ServiceUnavailable if too many thumbnails of the
        tenant wait, and NotFound if the store does not have the file.
        """
        key = file_key(file.tenant_id, file.id, file.created_at, thumbnail=name)
        try:
            return await self._read(key)
        except ObjectMissing:
            running = self._running.get(key) or self._begin(file, key, box)
        # Another request may wait for the same thumbnail, and must not lose it with this one.
        return await asyncio.shield(running)

    def _begin(self, file: StoredFile, key: str, box: tuple[int, int]) -> asyncio.Task[bytes]:
        if self._of_tenants[file.tenant_id] > MOST_WAITING:
            raise ServiceUnavailable("Other thumbnails are being created: try again in some seconds.")
        self._of_tenants[file.tenant_id] += 1
        running = asyncio.create_task(self._create(file, key, box))
        self._running[key] = running

        def end(ended: asyncio.Task[bytes]) -> None:
            del self._running[key]
            self._of_tenants[file.tenant_id] -= 1
            if not self._of_tenants[file.tenant_id]:
                del self._of_tenants[file.tenant_id]
            # A request whose client has left does not read the error.
            if not ended.cancelled():
                ended.exception()

        running.add_done_callback(end)
        return running

    async def _create(self, file: StoredFile, key: str, box: tuple[int, int]) -> bytes:
        with self.figures.waiting_thumbnail():
            await self._lane.acquire()
        try:
            if self.spool is not None:
                self.spool.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.spool) as folder:
                source, target = Path(folder, "source"), Path(folder, "target")
                await self._fetch(file, source)
                await self.images.thumbnail(source, target, box)
                await self.store.put(key, target, THUMBNAIL_TYPE)
                return await asyncio.to_thread(target.read_bytes)
        finally:
            self._lane.release()

    async def _fetch(self, file: StoredFile, path: Path) -> None:
        key = file_key(file.tenant_id, file.id, file.created_at)
        try:
            async with self.store.open(key, 0, file.size) as pieces:
                with path.open("wb") as copy:
                    async for piece in pieces:
                        copy.write(piece)
        except ObjectMissing:
            raise NotFound from None

    async def _read(self, key: str) -> bytes:
        async with self.store.open(key) as pieces:
            return b"".join([piece async for piece in pieces])
