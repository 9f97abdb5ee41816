"""Ids that may be used once."""

from dataclasses import dataclass
from datetime import datetime

from adapters.memory.store import Access


@dataclass(frozen=True)
class MemorySpentIds:
    access: Access

    async def spend(self, spent_id: str, until: datetime, now: datetime) -> bool:
        async with self.access.write() as store:
            end = store.spent_ids.get(spent_id)
            if end is not None and end > now:
                return False
            store.spent_ids[spent_id] = until
            return True
