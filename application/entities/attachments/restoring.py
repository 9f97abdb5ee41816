"""Contents of files put back into the store, from the folder of a backup."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from application.ports.database import Database
from application.ports.entities.attached_files import UnusedFileTransaction
from application.ports.entities.attachments import FileStore
from domain.entities.attachments.files import STORED, StoredFile
from domain.entities.attachments.keys import file_key
from domain.scope import EveryTenant

ROWS_AT_ONCE = 1_000
WRITES_AT_ONCE = 8


@dataclass(frozen=True)
class FileRestoration:
    database: Database[UnusedFileTransaction]
    store: FileStore

    async def restore(self, folder: Path, advance: Callable[[int], None]) -> None:
        """Put the contents of the files of all tenants into the store, in place of those that it has.

        ``folder`` has them by their keys; thumbnails are created again. Contents without an entry stay there, and a
        content that the folder does not have stays missing. ``advance`` receives the numbers of files.
        """
        async for files in self._pages():
            slots = asyncio.Semaphore(WRITES_AT_ONCE)
            await asyncio.gather(*(self._put(file, folder, slots) for file in files if file.state in STORED))
            advance(len(files))

    async def _put(self, file: StoredFile, folder: Path, slots: asyncio.Semaphore) -> None:
        key = file_key(file.tenant_id, file.id, file.created_at)
        async with slots:
            if await asyncio.to_thread((folder / key).is_file):
                await self.store.put(key, folder / key, file.type)

    async def _pages(self) -> AsyncIterator[list[StoredFile]]:
        after: tuple[UUID, UUID] | None = None
        while True:
            async with self.database.read_only(EveryTenant()) as read:
                files = list(await read.unused_files.page(after, ROWS_AT_ONCE))
            if not files:
                return
            yield files
            after = files[-1].tenant_id, files[-1].id
