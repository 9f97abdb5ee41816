"""Audit entries about refused administration: forbidden or too frequent operations, with their callers."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from application.ports.database import Database
from application.ports.identity.users import IdentityTransaction
from application.ports.runtime import Clock
from domain.errors import ServiceUnavailable
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event

APART = timedelta(minutes=1)
"""Minimum time between two entries of one caller about one operation: refusals cost the sender nothing, but entries
cost storage.
"""
MOST = 10_000

NAMES = {403: "refused", 429: "limited"}
"""Suffixes of the actions, by response status: ``users.update.refused``."""


@dataclass(frozen=True)
class DeniedOperations:
    database: Database[IdentityTransaction]
    clock: Clock
    _noted: dict[tuple[UUID, str], datetime] = field(default_factory=dict)

    async def note(self, caller: Caller, operation: str, status: int, client: Client) -> None:
        """Add an entry unless this process recently added one; runs after the response."""
        now, action = self.clock.now(), f"{operation}.{NAMES[status]}"
        last = self._noted.get((caller.user_id, action))
        if last is not None and now - last < APART:
            return
        if len(self._noted) >= MOST:
            self._noted.clear()
        self._noted[caller.user_id, action] = now
        # No caller waits for this entry, and a refusal without it remains valid.
        with suppress(ServiceUnavailable):
            try:
                async with self.database.autocommit(EveryTenant()) as tx:
                    line = event(action, caller.user_id, None, client, now)
                    await tx.audit.add(caller.tenant_id or SYSTEM_TENANT_ID, line)
            except BaseException:
                self._noted.pop((caller.user_id, action), None)  # the next refusal tries again
                raise
