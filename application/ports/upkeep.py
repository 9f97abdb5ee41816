"""Care for the tables themselves: dead rows and the planner's statistics."""

from collections.abc import Sequence
from typing import Protocol

from domain.entities.declaration import EntityModel


class Upkeep(Protocol):
    """Done outside any transaction, on tables that are in use: no reader or writer waits for it.

    Both raise ServiceUnavailable while the database is away.
    """

    async def tend(self) -> Sequence[str]:
        """Clears dead rows and renews statistics where the database itself is late, and returns the tables' names.

        Returns no table while another process is at it.
        """
        ...

    async def analyze(self, model: EntityModel) -> None:
        """Renews the statistics of an entity's table, as after an import of many rows."""
        ...
