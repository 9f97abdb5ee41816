"""Ids that may be used once."""

from dataclasses import dataclass
from datetime import datetime

from adapters.memory.store import Access


@dataclass(frozen=True)
class MemoryUsedNonces:
    access: Access

    async def consume(self, nonce: str, until: datetime, now: datetime) -> bool:
        async with self.access.write() as store:
            end = store.spent_ids.get(nonce)
            if end is not None and end > now:
                return False
            store.spent_ids[nonce] = until
            return True
