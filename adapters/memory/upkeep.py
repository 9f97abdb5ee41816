"""Upkeep of tables that have no dead rows and no statistics."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from adapters.memory.audit import TABLE
from adapters.memory.database import MemoryDatabase
from domain.entities.declaration import EntityModel


@dataclass(frozen=True)
class MemoryUpkeep:
    database: MemoryDatabase

    async def tend(self) -> Sequence[str]:
        return ()

    async def analyze(self, model: EntityModel) -> None:
        pass

    async def forget_events(self, before: datetime, most: int) -> int | None:
        async with self.database.changing() as store:
            rows = store.tables.setdefault(TABLE, {})
            old = [key for key, row in rows.items() if cast(datetime, row["occurred_at"]) <= before]
            for key in old[:most]:
                del rows[key]
        return len(old[:most])
