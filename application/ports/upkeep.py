"""Care for the tables themselves: dead rows and the planner's statistics."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from domain.entities.declaration import EntityModel
from domain.retention import DatedRecords


class Upkeep(Protocol):
    """Care of tables that are in use, outside any transaction: no reader or writer waits for it.

    All methods raise ServiceUnavailable while the database is away.
    """

    async def tend(self) -> Sequence[str]:
        """Clears dead rows and renews statistics where the database itself is late, and returns the tables' names.

        Makes room for the coming months in tables that are in parts by month.

        Returns no table while another process is at it.
        """
        ...

    async def earlier(self, now: datetime) -> datetime:
        """The process's ``now``, or the time by the database's clock where it has one of its own that is behind."""
        ...

    async def analyze(self, model: EntityModel) -> None:
        """Renews the statistics of an entity's table, as after an import of many rows."""
        ...

    async def forget(self, what: DatedRecords, before: datetime, most: int) -> int | None:
        """Deletes records up to ``before``, and returns how many; 0 where none are left to delete, or another process
        is at it.

        Those of a month may stay until the whole month is past ``before``, and then go at once, however many they are;
        others go at most ``most`` at a time.

        None where the login may not, because it does not own the table: the service's own role only adds to it.
        """
        ...
