"""Removal of expired data, by the rules of all parts."""

from dataclasses import dataclass
from datetime import datetime

from adapters.memory.entities.ports import RETAINED as ENTITIES
from adapters.memory.entities.webhooks.ports import RETAINED as WEBHOOKS
from adapters.memory.identity.joining.ports import RETAINED as JOINING
from adapters.memory.identity.ports import RETAINED as IDENTITY
from adapters.memory.identity.service_accounts.ports import RETAINED as SERVICE_ACCOUNTS
from adapters.memory.store import Access, Retained
from domain.parts.login import TOKEN_VERSIONS
from domain.parts.operations import MAILS
from domain.retention import RetentionRule

RETAINED: Retained = {
    **IDENTITY,
    **JOINING,
    **SERVICE_ACCOUNTS,
    **ENTITIES,
    **WEBHOOKS,
    TOKEN_VERSIONS: lambda store: (
        store.token_versions,
        {subject: store.ended_counts.get(subject) for subject in store.token_versions},
    ),
    MAILS: lambda store: (store.outbox, {key: mail.given_up_at for key, mail in store.outbox.items()}),
}


@dataclass(frozen=True)
class MemoryRetention:
    access: Access

    async def claim(self) -> bool:
        # Transactions run in sequence, so no other removal can run.
        return True

    async def remove(self, rule: RetentionRule, before: datetime, most: int) -> int:
        async with self.access.write() as store:
            entries, ages = RETAINED[rule](store)
            old = {key: at for key, at in ages.items() if at is not None and at <= before}
            oldest = sorted(old, key=old.__getitem__)[:most]
            for key in oldest:
                del entries[key]
            return len(oldest)
