"""Files in a folder of this machine."""

import asyncio
import errno
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from application.ports.entities.attachments import PIECE, ObjectMissing, StoredObject, StoreUnavailable
from domain.entities.attachments.keys import ensure_folder, ensure_key

_UNFINISHED = ".writing"
"""Folder of unfinished objects. No key begins with a dot."""
_LEFT_AFTER = 3600.0
"""Age in seconds of an unfinished object without changes that a stopped process left behind."""


@dataclass
class DiskStore:
    """A folder with a file per object. Only the service's account can read it (0700, 0600)."""

    folder: Path
    _is_clean: bool = False

    async def put(self, key: str, path: Path, media_type: str) -> None:  # noqa: ARG002 - a folder stores contents only
        target = self.folder / ensure_key(key)
        with path.open("rb") as source, _failures():
            await asyncio.to_thread(self._put, source, target)

    @asynccontextmanager
    async def open(self, key: str, start: int = 0, length: int | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        with _failures():
            file = await asyncio.to_thread(_opened, self.folder / ensure_key(key), start)
        try:
            yield _pieces(file, length)
        finally:
            await asyncio.to_thread(file.close)

    async def delete(self, keys: Sequence[str]) -> None:
        paths = [self.folder / ensure_key(key) for key in keys]
        with _failures():
            await asyncio.to_thread(_delete, paths)

    async def link(self, key: str, *, lifetime: timedelta, media_type: str, disposition: str) -> str | None:  # noqa: ARG002 - a folder has no URLs
        return None

    async def ensure_available(self) -> None:
        with _failures():
            await asyncio.to_thread(_ensure_writable, self.folder)

    async def keys(self, folder: str) -> AsyncIterator[StoredObject]:
        waiting = [self.folder / ensure_folder(folder)]
        while waiting:
            with _failures():
                folders, found = await asyncio.to_thread(self._listed, waiting.pop())
            waiting += folders
            for stored in found:
                yield stored

    def _listed(self, folder: Path) -> tuple[list[Path], list[StoredObject]]:
        """Return the folders and the objects of a folder, none if it does not exist."""
        folders: list[Path] = []
        found: list[StoredObject] = []
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    folders.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    # Another process may delete the object meanwhile.
                    with suppress(FileNotFoundError):
                        key = Path(entry.path).relative_to(self.folder).as_posix()
                        found.append(StoredObject(key, entry.stat().st_size))
        return folders, found

    def _put(self, source: BinaryIO, target: Path) -> None:
        unfinished = self.folder / _UNFINISHED
        _make_durably(unfinished)
        self._clear(unfinished)
        descriptor, name = tempfile.mkstemp(dir=unfinished)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                shutil.copyfileobj(source, stream, PIECE)
                stream.flush()
                os.fsync(stream.fileno())
            _make_durably(target.parent)
            Path(name).replace(target)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(name).unlink()
            raise
        _sync(target.parent)

    def _clear(self, unfinished: Path) -> None:
        """Delete what killed processes left, once per process."""
        if self._is_clean:
            return
        self._is_clean = True
        for path in unfinished.iterdir():
            # Other processes write objects, too, and finish or delete them.
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _LEFT_AFTER:
                    path.unlink()


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable from error


def _opened(path: Path, start: int) -> BinaryIO:
    try:
        file = path.open("rb", buffering=PIECE)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise ObjectMissing(path.name) from None
    file.seek(start)
    return file


async def _pieces(file: BinaryIO, length: int | None) -> AsyncIterator[bytes]:
    left = length
    while left is None or left > 0:
        with _failures():
            piece = await asyncio.to_thread(file.read, PIECE if left is None else min(PIECE, left))
        if not piece:
            break
        left = None if left is None else left - len(piece)
        yield piece
    if left:
        raise StoreUnavailable


def _delete(paths: Sequence[Path]) -> None:
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()


def _ensure_writable(folder: Path) -> None:
    """Raise OSError if the folder, or the one that it would be made in, is read-only or has no room."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    if not os.statvfs(folder).f_bavail:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def _make_durably(folder: Path) -> None:
    """Make the folder and its parents, so that they exist after a power failure."""
    if folder.is_dir():
        return
    _make_durably(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    _sync(folder.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
