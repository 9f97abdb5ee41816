"""Signals within one process, and a look at intervals for writes that send none."""

import asyncio
from collections.abc import Collection
from uuid import UUID

LOOKED_EVERY = 0.05
"""Seconds between two looks: memory is read quickly, and writes to it have no sequencer that sends signals."""


class MemoryWakes:
    def __init__(self, every: float = LOOKED_EVERY) -> None:
        self._every = every
        self._woken = asyncio.Event()
        self._tenants: set[UUID | None] = set()

    async def publish(self, tenants: Collection[UUID | None]) -> None:
        self._tenants |= {*tenants}
        self._woken.set()

    async def next(self) -> Collection[UUID | None] | None:
        try:
            async with asyncio.timeout(self._every):
                await self._woken.wait()
        except TimeoutError:
            return None
        self._woken.clear()
        tenants, self._tenants = self._tenants, set()
        return tenants

    async def close(self) -> None:
        pass
