"""Time and new identifiers."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    def now(self) -> datetime:
        """An aware datetime in UTC."""
        ...


class Ids(Protocol):
    def new(self) -> UUID:
        """A UUIDv7: later ones sort after earlier ones of the same process."""
        ...
