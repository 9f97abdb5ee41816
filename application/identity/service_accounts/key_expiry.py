"""Notice of expiring keys: one mail per key to the owners of the tenant."""

from dataclasses import dataclass
from datetime import datetime

from application.ports.database import Database, Mail
from application.ports.identity.service_accounts import ServiceAccountTransaction
from application.ports.runtime import Clock, Ids
from application.retry import retry_on_conflict
from domain.identity.service_accounts import WARNED_BEFORE, ApiKey
from domain.scope import EveryTenant

AT_ONCE = 50
"""Maximum keys per transaction."""


@dataclass(frozen=True)
class KeyExpiry:
    database: Database[ServiceAccountTransaction]
    clock: Clock
    ids: Ids

    @retry_on_conflict
    async def announce(self) -> int:
        """Add mails about some of the keys that expire within WARNED_BEFORE; return the number of keys."""
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            keys = await tx.api_keys.take_expiring(now, now + WARNED_BEFORE, AT_ONCE)
            for key in keys:
                await self._tell(tx, key, now)
        return len(keys)

    async def _tell(self, tx: ServiceAccountTransaction, key: ApiKey, now: datetime) -> None:
        assert key.expires_at is not None
        # Notify the owners, or the Admins of a tenant without owners. Without both, the key still expires.
        told = await tx.memberships.lock_owners(key.tenant_id)
        for user_id in told or await tx.memberships.lock_admins(key.tenant_id):
            state = await tx.users.state(user_id)
            if state is None:
                continue
            # Security: name the key by its first characters, because a user chose its name.
            mail = Mail(
                id=self.ids.new(),
                kind="key-expires",
                recipient=state.user.email,
                name=state.user.full_name,
                address=f"{key.start}, {key.expires_at:%Y-%m-%d %H:%M} UTC",
                at=now,
            )
            await tx.outbox.add(mail)
