"""Last uses of API keys: recorded in memory by requests, and stored periodically in the background."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from application.ports.database import Database
from application.ports.identity.service_accounts import KeyUse, ServiceAccountTransaction
from domain.scope import EveryTenant

STORED_EVERY = 60.0
"""Seconds between two writes, the precision of ``lastUsedAt``."""


@dataclass(frozen=True)
class LastUses:
    database: Database[ServiceAccountTransaction]
    _uses: dict[UUID, KeyUse] = field(default_factory=dict, repr=False)

    def note(self, key_id: UUID, at: datetime, address: str) -> None:
        """Record a use in memory, without a round trip."""
        # Record only a key's last use.
        self._uses[key_id] = KeyUse(key_id, at, address)

    async def store(self) -> int:
        """Store the recorded uses in one statement; return the number of keys."""
        uses = list(self._uses.values())
        if not uses:
            return 0
        self._uses.clear()
        try:
            async with self.database.autocommit(EveryTenant()) as tx:
                await tx.api_keys.note_uses(uses)
        except BaseException:
            # Retain for the next turn, unless the key was used again concurrently.
            for use in uses:
                self._uses.setdefault(use.key_id, use)
            raise
        return len(uses)
