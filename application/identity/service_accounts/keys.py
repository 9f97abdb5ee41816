"""Administration of the API keys of a service account."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from uuid import UUID

from msgspec import Struct

from application.audit import record
from application.identity.service_accounts.forms import (
    LAST_MOMENT,
    ApiKeyItem,
    KeyForm,
    NewKey,
    RotationForm,
    ensure_valid_key,
    key_item,
    new_key,
)
from application.ports.database import Database
from application.ports.identity.service_accounts import ServiceAccountTransaction
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.errors import Conflict, Forbidden, NotFound, QuotaExceeded
from domain.identity.administration import ensure_may_give
from domain.identity.service_accounts import (
    BASE62,
    KEYS_PER_ACCOUNT,
    SECRET_LENGTH,
    START_LENGTH,
    ApiKey,
    ServiceAccount,
    compose_key,
    key_digest,
)
from domain.scope import Caller, Client, EveryTenant, grants_subject, may_grant, session_subject, smallest


class KeyPolicy(Struct, frozen=True, kw_only=True):
    """Settings of keys; ``longest`` is the maximum lifetime of a key, None for no maximum."""

    prefix: str
    longest: timedelta | None


@dataclass(frozen=True)
class KeyAdministration:
    database: Database[ServiceAccountTransaction]
    revocations: Revocations
    clock: Clock
    ids: Ids
    policy: KeyPolicy

    async def all(self, caller: Caller, account_id: UUID) -> list[ApiKeyItem]:
        """Return live keys, oldest first."""
        now = self.clock.now()
        async with self.database.read_only(EveryTenant()) as read:
            await self._account(read, caller, account_id, now)
            keys = await read.api_keys.of_account(caller.tenant.id, account_id, now)
        return [key_item(key) for key in keys]

    @retry_on_conflict
    async def create(self, caller: Caller, account_id: UUID, form: KeyForm, client: Client) -> NewKey:
        """Create a key. Raises Forbidden for rights beyond the account's, or an account's beyond the caller's."""
        now = self.clock.now()
        ensure_valid_key(form, now, self.policy.longest)
        longest = now + self.policy.longest if self.policy.longest else None
        text = self._text()
        key = ApiKey(
            id=self.ids.new(),
            tenant_id=caller.tenant.id,
            account_id=account_id,
            name=form.name,
            start=text[:START_LENGTH],
            permissions=None if form.permissions is None else smallest(form.permissions),
            networks=None if form.networks is None else tuple(str(ip_network(network)) for network in form.networks),
            created_at=now,
            created_by=caller.user_id,
            expires_at=form.expires_at.astimezone(UTC) if form.expires_at else longest,
        )
        async with self.database.transaction(EveryTenant()) as tx:
            living = await tx.api_keys.lock(key.tenant_id, account_id, now)
            account = await self._account(tx, caller, account_id, now)
            ensure_may_give(caller, account.roles)
            if key.permissions is not None and not may_grant(account.permissions, key.permissions):
                raise Forbidden("A key cannot have a permission that its account does not have.")
            if living >= KEYS_PER_ACCOUNT:
                raise QuotaExceeded(f"A service account has at most {KEYS_PER_ACCOUNT} keys: end one first.")
            await tx.api_keys.add(key, key_digest(text))
            await record(tx, "key.created", caller, key.id, client, self.clock.now())
        return new_key(key, text)

    @retry_on_conflict
    async def rotate(
        self, caller: Caller, account_id: UUID, key_id: UUID, form: RotationForm, client: Client
    ) -> NewKey:
        """Create a successor with the same rights and lifetime; the old key remains valid for the overlap."""
        now, overlap, text = self.clock.now(), timedelta(minutes=form.overlap_minutes), self._text()
        # Without an overlap, revoke the old key. With an overlap, make its tokens stale, so that they get the new end.
        subject = grants_subject(account_id) if overlap else session_subject(key_id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            living = await tx.api_keys.lock(caller.tenant.id, account_id, now)
            old = await self._key(tx, caller, account_id, key_id, now)
            if old.ended_at is not None:
                raise Conflict("The key was rotated already: rotate its successor.")
            # During an overlap, an account may have one key above its quota.
            if overlap and living > KEYS_PER_ACCOUNT:
                raise QuotaExceeded("Another rotated key lives still: end it, or rotate without an overlap.")
            key = self._successor(caller, old, text, now)
            await tx.api_keys.end(old, now + overlap)
            await tx.api_keys.add(key, key_digest(text))
            published.update(await tx.token_versions.bump([subject], ended_at=None if overlap else now))
            await record(tx, "key.rotated", caller, key_id, client, self.clock.now())
        return new_key(key, text)

    @retry_on_conflict
    async def end(self, caller: Caller, account_id: UUID, key_id: UUID, client: Client) -> None:
        """End the key: every process refuses the key and its tokens from the next request on."""
        now, subject = self.clock.now(), session_subject(key_id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            await tx.api_keys.lock(caller.tenant.id, account_id, now)
            key = await self._key(tx, caller, account_id, key_id, now)
            await tx.api_keys.end(key, now)
            published.update(await tx.token_versions.bump([subject]))
            await tx.token_versions.end([subject], now)
            await record(tx, "key.ended", caller, key_id, client, self.clock.now())

    def _successor(self, caller: Caller, old: ApiKey, text: str, now: datetime) -> ApiKey:
        lifetime = old.expires_at - old.created_at if old.expires_at else None
        shortest = min((given for given in (lifetime, self.policy.longest) if given is not None), default=None)
        return ApiKey(
            id=self.ids.new(),
            tenant_id=old.tenant_id,
            account_id=old.account_id,
            name=old.name,
            start=text[:START_LENGTH],
            permissions=old.permissions,
            networks=old.networks,
            created_at=now,
            created_by=caller.user_id,
            # Dates end at LAST_MOMENT, so limit the successor's lifetime.
            expires_at=None if shortest is None else now + min(shortest, LAST_MOMENT - now),
        )

    def _text(self) -> str:
        # 62 to the power of 32 is more than 190 bits, drawn without bias.
        secret = "".join(secrets.choice(BASE62) for _ in range(SECRET_LENGTH))
        return compose_key(self.policy.prefix, secret)

    async def _account(
        self, tx: ServiceAccountTransaction, caller: Caller, account_id: UUID, now: datetime
    ) -> ServiceAccount:
        # Security: report another tenant's account as not found.
        found = await tx.service_accounts.get(caller.tenant.id, account_id, now)
        if found is None:
            raise NotFound
        return found.account

    async def _key(
        self, tx: ServiceAccountTransaction, caller: Caller, account_id: UUID, key_id: UUID, now: datetime
    ) -> ApiKey:
        account = await self._account(tx, caller, account_id, now)
        ensure_may_give(caller, account.roles)
        living = await tx.api_keys.of_account(caller.tenant.id, account_id, now)
        found = next((key for key in living if key.id == key_id), None)
        if found is None:
            raise NotFound
        return found
