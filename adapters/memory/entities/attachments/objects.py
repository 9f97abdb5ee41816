"""Contents of files in a dictionary, for tests of projects."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from application.ports.entities.attachments import PIECE, ObjectMissing, StoredObject, StoreUnavailable
from domain.entities.attachments.keys import ensure_folder, ensure_key


@dataclass
class MemoryFileStore:
    """Objects by key. While ``is_away``, every method raises StoreUnavailable."""

    objects: dict[str, bytes] = field(default_factory=dict)
    is_away: bool = False

    async def put(self, key: str, path: Path, media_type: str) -> None:  # noqa: ARG002 - a dictionary stores contents only
        self._ensure_reachable()
        self.objects[ensure_key(key)] = await asyncio.to_thread(path.read_bytes)

    @asynccontextmanager
    async def open(self, key: str, start: int = 0, length: int | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        self._ensure_reachable()
        if ensure_key(key) not in self.objects:
            raise ObjectMissing(key)
        yield self._pieces(self.objects[key][start:], length)

    async def _pieces(self, content: bytes, length: int | None) -> AsyncIterator[bytes]:
        asked = len(content) if length is None else length
        for start in range(0, min(asked, len(content)), PIECE):
            self._ensure_reachable()
            yield content[start : min(start + PIECE, asked)]
        if asked > len(content):
            raise StoreUnavailable

    async def delete(self, keys: Sequence[str]) -> None:
        self._ensure_reachable()
        for key in [ensure_key(key) for key in keys]:
            self.objects.pop(key, None)

    async def link(self, key: str, *, lifetime: timedelta, media_type: str, disposition: str) -> str | None:  # noqa: ARG002 - a dictionary has no URLs
        return None

    async def ensure_available(self) -> None:
        self._ensure_reachable()

    async def keys(self, folder: str) -> AsyncIterator[StoredObject]:
        self._ensure_reachable()
        start = f"{ensure_folder(folder)}/" if folder else ""
        for key, content in list(self.objects.items()):
            if key.startswith(start):
                yield StoredObject(key, len(content))

    def _ensure_reachable(self) -> None:
        if self.is_away:
            raise StoreUnavailable
