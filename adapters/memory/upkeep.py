"""Upkeep of tables that have no dead rows and no statistics."""

from collections.abc import Sequence

from domain.entities.declaration import EntityModel


class MemoryUpkeep:
    async def tend(self) -> Sequence[str]:
        return ()

    async def analyze(self, model: EntityModel) -> None:
        pass
