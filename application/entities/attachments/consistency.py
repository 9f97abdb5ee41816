"""Comparison of the store of files with the entries in the database."""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from msgspec import Struct

from application.entities.attachments.unused_files import AT_ONCE
from application.ports.database import Database
from application.ports.entities.attached_files import UnusedFileTransaction
from application.ports.entities.attachments import FileStore, ObjectMissing
from application.ports.runtime import Clock
from domain.entities.attachments.files import STORED, StoredFile
from domain.entities.attachments.keys import file_key, key_of_file
from domain.scope import EveryTenant

ROWS_AT_ONCE = 5_000
READS_AT_ONCE = 8
"""Contents that are read at the same time, for their digests."""
MOST_WRONG = 1_000
"""Maximum number of files, and of tenants, whose entries are reported as wrong."""


class Comparison(Struct, frozen=True, kw_only=True):
    """Differences between the store and the entries of ``files``.

    ``missing`` have no content, ``altered`` another size or digest. ``misheld`` are held by a row that does not name
    them, or named by a row that does not hold them. ``miscounted`` are tenants with another usage than their files.
    ``unknown`` are keys without an entry, and ``foreign`` those that the service cannot have made.
    """

    files: int
    missing: list[StoredFile]
    altered: list[StoredFile]
    misheld: Sequence[StoredFile]
    miscounted: Sequence[UUID]
    unknown: list[str]
    foreign: list[str]

    @property
    def is_consistent(self) -> bool:
        """Whether each entry has its content and its holder; contents without an entry do no harm."""
        return self.is_whole and not self.missing

    @property
    def is_whole(self) -> bool:
        """Like ``is_consistent``, but only files that a row holds need their contents.

        The service may delete other files while it is being backed up.
        """
        lost = any(file.state == "held" for file in self.missing)
        return not (lost or self.altered or self.misheld or self.miscounted)


@dataclass(frozen=True)
class FileConsistency:
    database: Database[UnusedFileTransaction]
    store: FileStore
    clock: Clock

    async def compare(self, *, digests: bool = False) -> Comparison:
        """Compare all keys with all entries. A running service may store and delete files at the same time.

        With ``digests``, read every content, too.
        """
        begun = self.clock.now()
        # Read the keys first: each of them has an entry from before its first byte.
        contents, foreign = await self._contents()
        missing: list[StoredFile] = []
        altered: list[StoredFile] = []
        count = 0
        after: tuple[UUID, UUID] | None = None
        while files := await self._page(after):
            whole: list[StoredFile] = []
            for file in files:
                key = _key(file)
                size = contents.pop(key, {}).get(key)
                if file.state not in STORED or file.since >= begun:
                    continue
                (missing if size is None else whole if size == file.size else altered).append(file)
            if digests:
                altered += await self._altered(whole)
            count += len(files)
            after = files[-1].tenant_id, files[-1].id
        async with self.database.read_only(EveryTenant()) as read:
            misheld = await read.unused_files.misheld(MOST_WRONG)
            miscounted = await read.unused_files.miscounted(MOST_WRONG)
        return Comparison(
            files=count,
            missing=missing,
            altered=altered,
            misheld=misheld,
            miscounted=miscounted,
            unknown=sorted(key for keys in contents.values() for key in keys),
            foreign=sorted(foreign),
        )

    async def repair(self, comparison: Comparison) -> None:
        """Delete contents without an entry. Missing contents stay missing: only a backup of the store has them."""
        for start in range(0, len(comparison.unknown), AT_ONCE):
            await self.store.delete(comparison.unknown[start : start + AT_ONCE])

    async def _contents(self) -> tuple[dict[str, dict[str, int]], list[str]]:
        """Return the sizes of the contents of each file by their keys, and the keys that are not the service's."""
        contents: dict[str, dict[str, int]] = defaultdict(dict)
        foreign: list[str] = []
        async for stored in self.store.keys(""):
            of_file = key_of_file(stored.key)
            if of_file is None:
                foreign.append(stored.key)
            else:
                contents[of_file][stored.key] = stored.size
        return contents, foreign

    async def _altered(self, files: Sequence[StoredFile]) -> list[StoredFile]:
        """Return the files with another digest than their content."""
        slots = asyncio.Semaphore(READS_AT_ONCE)

        async def is_altered(file: StoredFile) -> bool:
            async with slots:
                digest = await self._digest(file)
                # The user may have deleted a temporary file since.
                return digest != file.sha256 and not (digest is None and file.state == "temporary")

        found = await asyncio.gather(*(is_altered(file) for file in files))
        return [file for file, differs in zip(files, found, strict=True) if differs]

    async def _digest(self, file: StoredFile) -> str | None:
        digest = hashlib.sha256()
        try:
            async with self.store.open(_key(file)) as pieces:
                async for piece in pieces:
                    digest.update(piece)
        except ObjectMissing:
            return None
        return digest.hexdigest()

    async def _page(self, after: tuple[UUID, UUID] | None) -> list[StoredFile]:
        async with self.database.read_only(EveryTenant()) as read:
            return list(await read.unused_files.page(after, ROWS_AT_ONCE))


def _key(file: StoredFile) -> str:
    return file_key(file.tenant_id, file.id, file.created_at)
