"""Work that is done one piece at a time for each key."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from domain.errors import TooBusy

MOST_IN_A_ROW = 100
"""Callers of one key that wait or work; as many passwords may wait for a core."""


@dataclass
class _Row:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    callers: int = 0


@dataclass(frozen=True)
class KeyedLocks:
    """Callers of one key take turns, in the order in which they came; those of other keys do not wait for them."""

    _rows: dict[Hashable, _Row] = field(default_factory=dict, repr=False)

    @asynccontextmanager
    async def taken(self, key: Hashable) -> AsyncIterator[None]:
        """Keeps the key's turn for the block. Raises TooBusy when MOST_IN_A_ROW callers are there already."""
        row = self._rows.setdefault(key, _Row())
        if row.callers >= MOST_IN_A_ROW:
            raise TooBusy
        row.callers += 1
        try:
            async with row.lock:
                yield
        finally:
            row.callers -= 1
            if not row.callers:
                del self._rows[key]

    def __len__(self) -> int:
        """Keys that somebody works or waits for."""
        return len(self._rows)
