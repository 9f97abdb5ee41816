"""Nonces that were used."""

from dataclasses import dataclass
from datetime import datetime

from adapters.memory.store import Access


@dataclass(frozen=True)
class MemoryUsedNonces:
    access: Access

    async def consume(self, nonce: str, until: datetime, now: datetime) -> bool:
        async with self.access.write() as store:
            end = store.used_nonces.get(nonce)
            if end is not None and end > now:
                return False
            store.used_nonces[nonce] = until
            return True
