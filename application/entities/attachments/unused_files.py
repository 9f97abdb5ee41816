"""Deletion of files that no row holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from application.ports.database import Database
from application.ports.entities.attached_files import UnusedFileTransaction
from application.ports.entities.attachments import FileStore
from application.ports.runtime import Clock
from application.ports.upkeep import Upkeep
from domain.entities.attachments.files import ATTACHED_WITHIN, WRITTEN_WITHIN, StoredFile
from domain.entities.attachments.keys import file_key
from domain.scope import EveryTenant

AT_ONCE = 500
"""Maximum number of files that one call deletes."""


@dataclass(frozen=True)
class UnusedFileRemoval:
    """Deletes the content first and then the entry, so that a crash leaves no content without an entry."""

    database: Database[UnusedFileTransaction]
    store: FileStore
    upkeep: Upkeep
    clock: Clock
    released_for: timedelta

    async def remove(self) -> int:
        """Delete some files that were not completely written, not attached, or released; return their number."""
        # The clock of a machine may be ahead, and its deletions would affect all tenants.
        now = await self.upkeep.earlier(self.clock.now())
        async with self.database.transaction(EveryTenant()) as tx:
            files = await tx.unused_files.claim(
                now, now - WRITTEN_WITHIN, now - ATTACHED_WITHIN, now - self.released_for, AT_ONCE
            )
        if files:
            # The files are claimed, so nobody attaches them, and no transaction waits for the store.
            await self.store.delete([key for file in files for key in keys_of(file)])
            async with self.database.transaction(EveryTenant()) as tx:
                await tx.unused_files.forget(files)
        return len(files)


def keys_of(file: StoredFile) -> Sequence[str]:
    """Return the keys of the file and of its thumbnails."""
    key = (file.tenant_id, file.id, file.created_at)
    return [file_key(*key), *(file_key(*key, thumbnail=size) for size in file.sizes)]
