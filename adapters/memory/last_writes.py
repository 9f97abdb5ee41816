"""Positions of last writes in memory."""

from datetime import datetime, timedelta
from uuid import UUID

from application.ports.replicas import BEGINNING, Position
from application.ports.runtime import Clock

KEPT = timedelta(seconds=60)


class MemoryLastWrites:
    """Positions of last writes in one process; ``down`` simulates an unavailable shared memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._positions: dict[UUID, tuple[Position, datetime]] = {}
        self.down = False

    async def of(self, session_id: UUID) -> Position | None:
        return None if self.down else self._known(session_id)

    async def note(self, session_id: UUID, position: Position) -> bool:
        if not self.down:
            kept = max(position, self._known(session_id))
            self._positions[session_id] = kept, self._clock.now() + KEPT
        return not self.down

    def _known(self, session_id: UUID) -> Position:
        position, until = self._positions.get(session_id, (BEGINNING, self._clock.now()))
        return position if self._clock.now() < until else BEGINNING
