"""Ids that may be used once."""

from dataclasses import dataclass
from datetime import datetime

from adapters.memory.store import Access


@dataclass(frozen=True)
class MemorySpentIds:
    access: Access

    async def spend(self, spent_id: str, until: datetime, now: datetime) -> bool:
        async with self.access.write() as store:
            living = {one: end for one, end in store.spent_ids.items() if end > now}
            store.spent_ids = {spent_id: until} | living
            return spent_id not in living
