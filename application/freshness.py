"""Read-your-writes: callers read from a replica only if it has their own writes."""

from dataclasses import dataclass
from uuid import UUID

from application.ports.replicas import NOWHERE_YET, LastWrites, Position, Wanted, WriteAheadLog
from domain.errors import ServiceUnavailable


@dataclass(frozen=True)
class Freshness:
    """Positions of writes, from a write's answer to later reads."""

    last_writes: LastWrites
    log: WriteAheadLog

    async def wanted(self, session_id: UUID) -> Wanted | None:
        """Return the freshness that the session's reads require of a replica; None if only the primary will do."""
        position = await self.last_writes.of(session_id)
        return None if position is None else Wanted(session_id, position)

    async def written(self, session_id: UUID) -> Position:
        """Publish a write of the session before its response, and return its position."""
        try:
            position = await self.log.position()
        except ServiceUnavailable:
            # The write may be committed at an unknown position, so for a minute the session reads only from the
            # primary.
            position = NOWHERE_YET
        if not await self.last_writes.note(session_id, position):
            # Other processes cannot learn of the write, so wait until the replicas have it.
            await self.log.replayed(position)
        return position
