"""Upkeep for tables without dead rows and statistics."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from adapters.memory.database import MemoryDatabase
from adapters.memory.entities.changes.log import TABLE as CHANGES
from adapters.memory.entities.history import TABLE as HISTORIES
from adapters.memory.operations.audit import TABLE as EVENTS
from domain.entities.declaration import EntityModel
from domain.retention import DatedRecords

_RECORDS = {
    DatedRecords.EVENTS: (EVENTS, "occurred_at"),
    DatedRecords.HISTORIES: (HISTORIES, "at"),
    DatedRecords.CHANGES: (CHANGES, "at"),
}
"""Table and time column of each kind."""


@dataclass(frozen=True)
class MemoryUpkeep:
    database: MemoryDatabase

    async def tend(self) -> Sequence[str]:
        return ()

    async def earlier(self, now: datetime) -> datetime:
        return now

    async def analyze(self, model: EntityModel) -> None:
        pass

    async def forget(self, what: DatedRecords, before: datetime, most: int) -> int | None:
        table, age = _RECORDS[what]
        async with self.database.changing() as store:
            rows = store.tables.setdefault(table, {})
            old = [key for key, row in rows.items() if cast(datetime, row[age]) <= before]
            for key in old[:most]:
                del rows[key]
        return len(old[:most])
