"""Time, new identifiers and password hashing."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    def now(self) -> datetime:
        """The current time, aware and in UTC."""
        ...


class Ids(Protocol):
    def new(self) -> UUID:
        """A UUIDv7; within a process later ids sort after earlier ones."""
        ...


class Outcomes(Protocol):
    """Counts what came of second factors, for the operator's metrics."""

    def count(self, method: str, outcome: str) -> None: ...


class Passwords(Protocol):
    """Hashes outside the event loop, as many at a time as there are cores, behind a bounded queue.

    Raises TooBusy when the queue is full; nothing was computed then.
    """

    async def hash(self, password: str) -> str:
        """Hash of a password that was normalised with ``normal_password``."""
        ...

    async def verify(self, password: str, stored: str | None) -> bool:
        """Whether the password matches; False for None and malformed hashes, after the time of a real verification.

        Takes the password as typed: the service's hashes are of its NFKC, imported ones of the typed text.
        """
        ...

    def is_outdated(self, stored: str) -> bool:
        """Whether the hash is weaker than what ``hash`` makes now."""
        ...
