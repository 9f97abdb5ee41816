"""Maintenance of tables: dead rows and the planner's statistics."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from domain.entities.declaration import EntityModel
from domain.retention import DatedRecords


class Upkeep(Protocol):
    """Maintenance of tables in use, outside any transaction; it blocks no reader or writer.

    All methods raise ServiceUnavailable during an outage of the database.
    """

    async def tend(self) -> Sequence[str]:
        """Vacuum tables and renew statistics if autovacuum is late; return the tables' names.

        Also creates the next partitions. Returns no table while another process does this.
        """
        ...

    async def earlier(self, now: datetime) -> datetime:
        """Return the process's ``now``, or the time of the database's own clock if that is behind."""
        ...

    async def analyze(self, model: EntityModel) -> None:
        """Renew the statistics of an entity's table, as after an import of many rows."""
        ...

    async def forget(self, what: DatedRecords, before: datetime, most: int) -> int | None:
        """Delete records up to ``before``; return their number, which is also 0 while another process does so.

        Drops a partition if all its records are before ``before``; deletes other records, at most ``most`` at a
        time.

        Returns None if the database role does not own the table: the service's role can only add rows.
        """
        ...
