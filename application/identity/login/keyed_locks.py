"""Locks by key within one process."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from domain.errors import TooBusy

LONGEST_QUEUE = 100
"""Maximum callers that hold or await one key; the same number of passwords may wait for a CPU core."""


@dataclass
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    callers: int = 0


@dataclass(frozen=True)
class KeyedLocks:
    """One lock per key; requests acquire it in the order of their arrival."""

    _entries: dict[Hashable, _Entry] = field(default_factory=dict, repr=False)

    @asynccontextmanager
    async def locked(self, key: Hashable) -> AsyncIterator[None]:
        """Hold the key's lock for the block. Raises TooBusy if LONGEST_QUEUE callers hold or await it."""
        entry = self._entries.setdefault(key, _Entry())
        if entry.callers >= LONGEST_QUEUE:
            raise TooBusy
        entry.callers += 1
        try:
            async with entry.lock:
                yield
        finally:
            entry.callers -= 1
            if not entry.callers:
                del self._entries[key]

    def __len__(self) -> int:
        """Number of held or awaited keys."""
        return len(self._entries)
