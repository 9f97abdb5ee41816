"""Care for the tables themselves: dead rows and the planner's statistics."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from domain.entities.declaration import EntityModel


class Upkeep(Protocol):
    """Done outside any transaction, on tables that are in use: no reader or writer waits for it.

    All raise ServiceUnavailable while the database is away.
    """

    async def tend(self) -> Sequence[str]:
        """Clears dead rows and renews statistics where the database itself is late, and returns the tables' names.

        Returns no table while another process is at it.
        """
        ...

    async def analyze(self, model: EntityModel) -> None:
        """Renews the statistics of an entity's table, as after an import of many rows."""
        ...

    async def forget_events(self, before: datetime, most: int) -> int | None:
        """Deletes events of the audit trail up to ``before``, at most so many, and returns how many.

        None where the login may not, because it does not own the table: the service's own role only adds to it.
        """
        ...
