"""API keys by digest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.identity.service_accounts.accounts import current_roles
from adapters.memory.identity.service_accounts.state import StoredApiKey
from adapters.memory.store import Access, Store
from application.ports.identity.service_accounts import KeyUse
from domain.identity.service_accounts import ApiKey, KeyState
from domain.scope import at_issue, grants_subject, role_subject, tenant_subject, user_subject


@dataclass(frozen=True)
class MemoryApiKeys:
    access: Access

    async def lock(self, tenant_id: UUID, account_id: UUID, now: datetime) -> int:
        self.access.lock()
        return len(await self.of_account(tenant_id, account_id, now))

    async def of_account(self, tenant_id: UUID, account_id: UUID, now: datetime) -> list[ApiKey]:
        keys = [stored.key for _, stored in _living(self.access.read(), now)]
        own = [key for key in keys if (key.tenant_id, key.account_id) == (tenant_id, account_id)]
        return sorted(own, key=lambda key: (key.created_at, key.id))

    async def add(self, key: ApiKey, digest: bytes) -> None:
        async with self.access.write() as store:
            store.api_keys[digest] = StoredApiKey(key=key)

    async def end(self, key: ApiKey, at: datetime) -> bool:
        async with self.access.write() as store:
            for digest, stored in store.api_keys.items():
                if stored.key.id == key.id and (stored.key.ends_at is None or stored.key.ends_at > at):
                    store.api_keys[digest] = replace(stored, key=replace(stored.key, ended_at=at))
                    return True
            return False

    async def state(self, digest: bytes) -> KeyState | None:
        store = self.access.read()
        stored = store.api_keys.get(digest)
        account = store.service_accounts.get(stored.key.account_id) if stored else None
        if stored is None or account is None:
            return None
        tenant_id = account.tenant_id
        is_open = tenant_id not in store.deleted_tenants and store.tenants[tenant_id].is_active
        subjects = [user_subject(account.id), grants_subject(account.id), tenant_subject(tenant_id)]
        subjects += [role_subject(role.id) for role in account.roles]
        versions = {subject: count for subject, count in at_issue(subjects, store.token_versions).items() if count}
        return KeyState(
            key=stored.key, account=current_roles(store, account), tenant_is_active=is_open, token_versions=versions
        )

    async def note_uses(self, uses: Sequence[KeyUse]) -> None:
        latest = {use.key_id: use for use in uses}
        async with self.access.write() as store:
            for digest, stored in store.api_keys.items():
                key, use = stored.key, latest.get(stored.key.id)
                if use is not None and (key.last_used_at is None or key.last_used_at < use.at):
                    used = replace(key, last_used_at=use.at, last_used_address=use.address)
                    store.api_keys[digest] = replace(stored, key=used)

    async def take_expiring(self, now: datetime, until: datetime, most: int) -> list[ApiKey]:
        async with self.access.write() as store:
            due = [
                (stored.key.expires_at, stored.key.id, digest)
                for digest, stored in _living(store, now)
                if not stored.is_warned and stored.key.expires_at == stored.key.ends_at is not None
            ]
            chosen = [digest for at, _, digest in sorted(due)[:most] if at is not None and at <= until]
            for digest in chosen:
                store.api_keys[digest] = replace(store.api_keys[digest], is_warned=True)
            return [store.api_keys[digest].key for digest in chosen]


def _living(store: Store, now: datetime) -> Iterator[tuple[bytes, StoredApiKey]]:
    for digest, stored in store.api_keys.items():
        if stored.key.ends_at is None or stored.key.ends_at > now:
            yield digest, stored
