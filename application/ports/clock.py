"""Time and new ids."""

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
