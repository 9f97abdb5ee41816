"""Read replicas: positions in the write-ahead log, and of each session's last write."""

from contextvars import ContextVar
from typing import Protocol
from uuid import UUID

from msgspec import Struct


class Position(Struct, frozen=True, order=True):
    """Place in the database's write-ahead log. ``timeline`` rises by one with each promotion of a replica.

    Text: both numbers in hexadecimal, ``1-16B3748``.
    """

    timeline: int
    offset: int

    def __str__(self) -> str:
        return f"{self.timeline:X}-{self.offset:X}"


BEGINNING = Position(0, 0)
"""Position before every write."""
NOWHERE_YET = Position(2**32 - 1, 2**64 - 1)
"""Position after every write, for a write with an unknown position. No replica reaches it."""


class Wanted(Struct, frozen=True):
    """Freshness required of a replica: it must have replayed ``position``. A session stays with one replica."""

    session_id: UUID
    position: Position

    def at_least(self, position: Position) -> "Wanted":
        return Wanted(self.session_id, max(self.position, position))


WANTED: ContextVar[Wanted | None] = ContextVar("wanted", default=None)
"""Set during a request if a replica may serve its reads; None requires the primary."""


class LastWrites(Protocol):
    """The position of each session's last write, shared by all processes; no method raises."""

    async def of(self, session_id: UUID) -> Position | None:
        """Return the position: BEGINNING if no write in the last minute, None if the shared memory is unreliable."""
        ...

    async def note(self, session_id: UUID, position: Position) -> bool:
        """Store the position, unless a later one is stored; return False on failure."""
        ...


class WriteAheadLog(Protocol):
    """Write-ahead log of the primary, and the positions of its replicas."""

    async def position(self) -> Position:
        """Return a position not before any commit that ended before the call. Raises ServiceUnavailable."""
        ...

    async def replayed(self, position: Position) -> None:
        """Wait until every replica in use has replayed the position, or until every process has stopped reading from
        the replicas that have not.
        """
        ...
