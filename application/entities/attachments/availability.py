"""Availability of the store of files, for readiness checks."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from application.ports.entities.attachments import FileStore, StoreUnavailable
from application.ports.runtime import Clock

CHECKED_EVERY = timedelta(seconds=5)
PATIENCE = 0.5
"""Seconds to wait for the store, because a load balancer does not wait for its answer much longer."""


@dataclass
class FileAvailability:
    """Asks the store at intervals, and never twice at the same time. Without a ``store``, no entity has files."""

    store: FileStore | None
    clock: Clock
    _is_available: bool = True
    _checked_at: datetime | None = None
    _running: "asyncio.Task[None] | None" = field(default=None, repr=False)

    async def is_available(self) -> bool | None:
        """Return whether the store answers, None if no entity has files."""
        if self.store is None:
            return None
        now = self.clock.now()
        if self._running is None and (self._checked_at is None or now - self._checked_at >= CHECKED_EVERY):
            self._running = asyncio.create_task(self._check(self.store, now))
        if self._running is not None:
            _, late = await asyncio.wait({self._running}, timeout=PATIENCE)
            if late:
                return False
        return self._is_available

    async def _check(self, store: FileStore, now: datetime) -> None:
        try:
            await store.ensure_available()
            self._is_available = True
        except StoreUnavailable:
            self._is_available = False
        finally:
            self._checked_at, self._running = now, None
