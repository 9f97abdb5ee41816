"""Last uses of API keys: noted in memory by requests, and stored now and then by a background task."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from application.ports.database import Database
from application.ports.identity.service_accounts import KeyUse, ServiceAccountTransaction
from domain.scope import EveryTenant

STORED_EVERY = 60.0
"""Seconds between two writes, and so the precision of ``lastUsedAt``."""


@dataclass(frozen=True)
class LastUses:
    database: Database[ServiceAccountTransaction]
    _uses: dict[UUID, KeyUse] = field(default_factory=dict, repr=False)

    def note(self, key_id: UUID, at: datetime, address: str) -> None:
        """Notes a use in memory, which costs the request no round trip."""
        # Later uses replace earlier ones: one write tells of a key's last use, however many there were.
        self._uses[key_id] = KeyUse(key_id, at, address)

    async def store(self) -> int:
        """Stores what was noted, in one statement; returns for how many keys."""
        uses = list(self._uses.values())
        if not uses:
            return 0
        self._uses.clear()
        try:
            async with self.database.autocommit(EveryTenant()) as tx:
                await tx.api_keys.note_uses(uses)
        except BaseException:
            # Kept for the next turn, unless the key was used again meanwhile.
            for use in uses:
                self._uses.setdefault(use.key_id, use)
            raise
        return len(uses)
