"""Comparison of the store of files with the entries in the database."""

from collections import defaultdict
from dataclasses import dataclass
from uuid import UUID

from msgspec import Struct

from application.entities.attachments.unused_files import AT_ONCE
from application.ports.database import Database
from application.ports.entities.attached_files import UnusedFileTransaction
from application.ports.entities.attachments import FileStore
from application.ports.runtime import Clock
from domain.entities.attachments.files import StoredFile
from domain.entities.attachments.keys import file_key
from domain.scope import EveryTenant

ROWS_AT_ONCE = 5_000
_STORED = frozenset({"temporary", "held", "released"})


class Comparison(Struct, frozen=True):
    """Result: the number of ``files``, entries without content (``missing``), and keys without an entry
    (``unknown``).
    """

    files: int
    missing: list[StoredFile]
    unknown: list[str]


@dataclass(frozen=True)
class FileConsistency:
    database: Database[UnusedFileTransaction]
    store: FileStore
    clock: Clock

    async def compare(self) -> Comparison:
        """Compare all keys with all entries. A running service may store and delete files at the same time."""
        begun = self.clock.now()
        # Read the keys first: each of them has an entry from before its first byte.
        contents: dict[str, list[str]] = defaultdict(list)
        async for stored in self.store.keys(""):
            contents[_key_of_file(stored.key)].append(stored.key)
        missing: list[StoredFile] = []
        count = 0
        after: tuple[UUID, UUID] | None = None
        while files := await self._page(after):
            for file in files:
                key = file_key(file.tenant_id, file.id, file.created_at)
                if key not in contents.pop(key, ()) and file.state in _STORED and file.since < begun:
                    missing.append(file)
            count += len(files)
            after = files[-1].tenant_id, files[-1].id
        return Comparison(count, missing, sorted(key for keys in contents.values() for key in keys))

    async def repair(self, comparison: Comparison) -> None:
        """Delete contents without an entry. Missing contents stay missing: only a backup of the store has them."""
        for start in range(0, len(comparison.unknown), AT_ONCE):
            await self.store.delete(comparison.unknown[start : start + AT_ONCE])

    async def _page(self, after: tuple[UUID, UUID] | None) -> list[StoredFile]:
        async with self.database.read_only(EveryTenant()) as read:
            return list(await read.unused_files.page(after, ROWS_AT_ONCE))


def _key_of_file(key: str) -> str:
    """Return the key of the file that a thumbnail belongs to; the key of a file itself."""
    folder, slash, name = key.rpartition("/")
    return f"{folder}{slash}{name.partition('.')[0]}"
