"""Read replicas: positions in the write-ahead log, and the position of each session's last write."""

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
"""Position after every write, which no replica reaches: for a write whose own position is not known."""


class Wanted(Struct, frozen=True):
    """Freshness that a read asks of a replica: to have replayed ``position``. A session keeps to one replica."""

    session_id: UUID
    position: Position

    def at_least(self, position: Position) -> "Wanted":
        return Wanted(self.session_id, max(self.position, position))


WANTED: ContextVar[Wanted | None] = ContextVar("wanted", default=None)
"""Set while a request is carried out whose reads may be answered by a replica; None is for the database itself."""


class LastWrites(Protocol):
    """The position of each session's last write, shared by all processes; no method raises."""

    async def of(self, session_id: UUID) -> Position | None:
        """BEGINNING without a write in the last minute; None while the shared memory cannot tell for certain."""
        ...

    async def note(self, session_id: UUID, position: Position) -> bool:
        """Keeps the position, unless it knows a later one; False when it could not be kept."""
        ...


class WriteAheadLog(Protocol):
    """The log of the primary, and how far its replicas have come."""

    async def position(self) -> Position:
        """Position at or behind the commit of every write that ended before the call. Raises ServiceUnavailable."""
        ...

    async def replayed(self, position: Position) -> None:
        """Returns once no process reads from a replica without the position: at the latest when such a replica has
        left the rotation of every process."""
        ...
