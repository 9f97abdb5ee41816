"""Accounts of social identities: found, claimed by the address owner, or created."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec.structs import replace

from application.audit import record_own
from application.identity.account.accounts import end_passkey_logins
from application.identity.account.registration import Registration
from application.ports.database import Database, Mail
from application.ports.identity.accounts import AccountTransaction, SocialIdentity
from application.ports.identity.tenants import TenantTransaction
from application.ports.identity.users import own_notice
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Cache, Revocations, profile_key
from application.retry import retry_on_conflict
from domain.errors import Conflict
from domain.forms import plain
from domain.identity.users import NAME_LENGTH, AccountState, User, email_key, is_same_address
from domain.scope import SYSTEM_TENANT_ID, Client, EveryTenant, event, user_subject


class SocialTransaction(AccountTransaction, TenantTransaction, Protocol):
    """Transaction for social logins."""


@dataclass(frozen=True)
class SocialAccounts:
    database: Database[SocialTransaction]
    registration: Registration
    revocations: Revocations
    cache: Cache
    clock: Clock
    ids: Ids

    async def account_state_of(self, identity: SocialIdentity, client: Client) -> AccountState | None:
        """Return the account of an identity; create one for a new address.

        None if the address belongs to another user, or the provider gives no address.
        """
        try:
            return await self._find_or_create(identity, client)
        except Conflict:
            # A parallel login created the account or link: the second attempt finds it.
            return await self._find_or_create(identity, client)

    async def _find_or_create(self, identity: SocialIdentity, client: Client) -> AccountState | None:
        key = email_key(identity.email or "")
        async with self.database.read_only(EveryTenant()) as read:
            user_id = await read.social.user_of(identity.provider, identity.subject)
            linked = await read.users.state(user_id) if user_id else None
            state = linked or (await read.users.state_by_email(key) if key else None)
        if state is None:
            is_open = self.registration.policy.is_open
            return await self._create(identity, key, client) if key and is_open else None
        # Security: providers fold addresses differently, so trust only identical text.
        owns_address = identity.email_verified and is_same_address(identity.email or "", state.user.email)
        # Security: another user may have prepared an account with an unproved address. The proven owner must claim the
        # account first.
        if linked is not None and (state.user.email_proved or not owns_address):
            return linked
        if not owns_address:
            return None
        if not state.user.is_active:
            # Return the disabled account: the last step of the login reports that it is disabled.
            return state
        return await self._claim(state.user, identity, client)

    @retry_on_conflict
    async def _create(self, identity: SocialIdentity, key: str, client: Client) -> AccountState | None:
        user = self._new_user(identity, key)
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.users.add(user)
            tenant_id = await self._join(tx, user)
            await self._link(tx, identity, user.id, user.created_at)
            if not user.email_confirmed and self.registration.policy.confirm_email:
                mail = Mail(id=self.ids.new(), kind="confirmation", recipient=key, at=user.created_at)
                await tx.outbox.add(replace(mail, language=client.language))
            await record_own(tx, "user.registered", user.id, tenant_id, client, user.created_at)
            return await tx.users.state(user.id)

    def _new_user(self, identity: SocialIdentity, key: str) -> User:
        now = self.clock.now()
        assert identity.email is not None
        return User(
            id=self.ids.new(),
            email=identity.email.strip(),
            email_key=key,
            full_name=plain(identity.name).strip()[:NAME_LENGTH] or key.partition("@")[0],
            email_confirmed=identity.email_verified,
            email_proved=identity.email_verified,
            email_proved_at=now if identity.email_verified else None,
            created_at=now,
            updated_at=now,
        )

    async def _join(self, tx: SocialTransaction, user: User) -> UUID | None:
        return await self.registration.join(tx, user)

    @retry_on_conflict
    async def _claim(self, user: User, identity: SocialIdentity, client: Client) -> AccountState | None:
        now, subjects = self.clock.now(), (user_subject(user.id),)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            # Security: the provider verified that this user owns the address. Remove credentials that another user may
            # have set.
            published.update(await self._clear_credentials(tx, user, client, now))
            await self._link(tx, identity, user.id, now)
            mail = own_notice(self.ids.new(), "identity-linked", user, client, now, about=identity.provider)
            await tx.outbox.add(mail)
            state = await tx.users.state(user.id)
        await self.cache.drop([profile_key(user.id)])
        return state

    async def _clear_credentials(
        self, tx: SocialTransaction, seen: User, client: Client, now: datetime
    ) -> Mapping[str, int]:
        # Lock the account first, so that no credential is added concurrently.
        await tx.memberships.lock(seen.id)
        state = await tx.users.state(seen.id)
        if state is None or state.user.email_key != seen.email_key:
            raise Conflict
        user = state.user
        if user.email_proved:
            return {}
        # Security: password, passkeys and sessions older than the proof may be another user's (pre-hijacking).
        await tx.users.save(
            replace(
                user,
                password_hash=None,
                password_set_at=None,
                must_change_password=False,
                email_confirmed=True,
                email_proved=True,
                email_proved_at=now,
                updated_at=now,
            ),
            user,
        )
        versions = await tx.token_versions.bump([user_subject(user.id)])
        await tx.users.end_sessions(user.id, now)
        await tx.social.unlink_all(user.id)
        await end_passkey_logins(tx, user, client, now)
        await tx.email_changes.end(user.id)
        await tx.one_time_tokens.forget(user.id, ["confirm", "reset"], now)
        await tx.audit.add(SYSTEM_TENANT_ID, event("account.claimed", user.id, user.id, client, now))
        return versions

    async def _link(self, tx: SocialTransaction, identity: SocialIdentity, user_id: UUID, now: datetime) -> None:
        if not await tx.social.link(identity.provider, identity.subject, user_id, now):
            raise Conflict
