"""Read-your-writes: whoever wrote reads from a replica only once it has what they wrote."""

from dataclasses import dataclass
from uuid import UUID

from application.ports.replicas import NOWHERE_YET, LastWrites, Position, Wanted, WriteAheadLog
from domain.errors import ServiceUnavailable


@dataclass(frozen=True)
class Freshness:
    """Positions of writes, from the answer of a write to the reads that follow it."""

    last_writes: LastWrites
    log: WriteAheadLog

    async def wanted(self, session_id: UUID) -> Wanted | None:
        """Freshness that a read of the session asks of a replica; None where only the primary will do."""
        position = await self.last_writes.of(session_id)
        return None if position is None else Wanted(session_id, position)

    async def written(self, session_id: UUID) -> Position:
        """Makes a write of the session known before it is answered, and returns its position."""
        try:
            position = await self.log.position()
        except ServiceUnavailable:
            # The write has perhaps been committed: for a minute, nothing but the primary shows it for certain.
            position = NOWHERE_YET
        if not await self.last_writes.note(session_id, position):
            # Other processes cannot learn of the write: it is answered once they need not.
            await self.log.replayed(position)
        return position
