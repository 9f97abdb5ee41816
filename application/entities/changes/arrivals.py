"""Wakes the readers of this process when their tenant's log has new entries; one subscription serves all readers."""

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from uuid import UUID

from application.ports.shared_memory import Wakes


class Arrivals:
    """Events by tenant. A task receives the signals as long as a reader waits for some."""

    def __init__(self, wakes: Wakes) -> None:
        self._wakes = wakes
        self._events: dict[UUID, set[asyncio.Event]] = {}
        self._receiving: asyncio.Task[None] | None = None

    @contextmanager
    def of(self, tenant_id: UUID) -> Iterator[asyncio.Event]:
        """Yield an event that is set whenever the tenant may have new entries; the reader clears the event."""
        event = asyncio.Event()
        self._events.setdefault(tenant_id, set()).add(event)
        if self._receiving is None or self._receiving.done():
            self._receiving = asyncio.create_task(self._receive())
        try:
            yield event
        finally:
            events = self._events[tenant_id]
            events.discard(event)
            if not events:
                del self._events[tenant_id]

    async def _receive(self) -> None:
        try:
            while self._events:
                self._set(await self._wakes.next())
        finally:
            await self._wakes.close()

    def _set(self, tenants: Collection[UUID | None] | None) -> None:
        # Shared rows concern every tenant.
        concerned = self._events if tenants is None or None in tenants else self._events.keys() & tenants
        for tenant_id in concerned:
            for event in self._events[tenant_id]:
                event.set()

    async def close(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
            await asyncio.gather(self._receiving, return_exceptions=True)
