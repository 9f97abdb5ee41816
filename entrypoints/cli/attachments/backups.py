"""Files of rows in backups: copied from a folder, or named if an object storage service has them."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from adapters.objects.disk import DiskStore
from application.entities.attachments.consistency import Comparison, FileConsistency
from application.entities.attachments.restoring import FileRestoration
from domain.entities.attachments.keys import key_of_file
from domain.entities.declaration import Registry
from entrypoints.assembly.adapters import open_adapters
from entrypoints.assembly.files import files_folder
from entrypoints.settings.settings import Settings
from entrypoints.terminal.errors import writing
from entrypoints.terminal.progress import progress_bar

FILES = "files"
"""Folder of a backup with the contents of files, by their keys."""


class FilesOfBackup(Struct, frozen=True, forbid_unknown_fields=True):
    """Contents of files in a backup; ``url`` is the store that has them if the backup does not."""

    url: str | None = None
    files: int = 0
    bytes: int = 0


async def copy_files(settings: Settings, folder: Path, name: Callable[[str], None]) -> FilesOfBackup:
    """Copy the contents of a store on this machine to the folder of a backup.

    MUST run after the dump, because a content is older than its entry. Contents that housekeeping deletes at the same
    time are omitted, and thumbnails are, because the service creates them again.
    """
    source = files_folder(settings)
    if source is None:
        return FilesOfBackup(url=settings.files_url)
    count = size = 0
    async for stored in DiskStore(source).keys(""):
        if key_of_file(stored.key) != stored.key:
            continue
        with writing(folder, "make room there, or name another folder"):
            try:
                await asyncio.to_thread(_copy, source / stored.key, folder / FILES / stored.key)
            except FileNotFoundError:
                continue
        name(stored.key)
        count += 1
        size += stored.size
    return FilesOfBackup(files=count, bytes=size)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as content:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with target.open("xb") as copy:
            # Security: only the owner of the backup may read contents of users.
            target.chmod(0o600)
            shutil.copyfileobj(content, copy, 1024 * 1024)


async def restore_files(
    settings: Settings, registry: Registry, backup: FilesOfBackup, folder: Path, *, compares: bool
) -> Comparison | None:
    """Put the contents of a backup into the store of the settings; with ``compares``, compare it with the database."""
    async with open_adapters(settings, registry) as adapters:
        database, store = adapters.database, adapters.files.store
        if backup.url is None:
            with progress_bar("Restoring files", backup.files) as advance:
                await FileRestoration(database, store).restore(folder / FILES, advance)
        if not compares:
            return None
        return await FileConsistency(database, store, adapters.clock).compare(digests=backup.url is None)
