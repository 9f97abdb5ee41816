"""The caller's accounts at social providers: listing and unlinking them."""

from dataclasses import dataclass
from typing import Protocol

from application.ports.database import Database, Mail
from application.ports.identity.accounts import AccountTransaction, LinkedProvider, SocialProviders
from application.ports.identity.factors import FactorTransaction
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Cache
from application.retry import retry_on_conflict
from domain.errors import Conflict, NotFound, TokenInvalid
from domain.identity.users import AccountState, profile_key
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event


class LinkTransaction(AccountTransaction, FactorTransaction, Protocol):
    """Parts of the database that hold the ways to log in."""


@dataclass(frozen=True)
class LinkedIdentities:
    database: Database[LinkTransaction]
    providers: SocialProviders
    cache: Cache
    clock: Clock
    ids: Ids

    async def all(self, caller: Caller) -> list[LinkedProvider]:
        """The caller's identities, the first linked first."""
        async with self.database.read_only(EveryTenant()) as read:
            return await read.social.of_user(caller.user_id)

    async def unlink(self, caller: Caller, provider: str, client: Client) -> None:
        """Unlinks an identity. Raises NotFound, and Conflict when there is no other way to log in."""
        await self._unlink(caller, provider, client)
        # after the commit, or a profile of before would be remembered again
        await self.cache.drop([profile_key(caller.user_id)])

    @retry_on_conflict
    async def _unlink(self, caller: Caller, provider: str, client: Client) -> None:
        now, name = self.clock.now(), provider.casefold()
        async with self.database.transaction(EveryTenant()) as tx:
            # Locked, so that of two ways that are removed at once one stays.
            await tx.memberships.lock(caller.user_id)
            state = await tx.users.state(caller.user_id)
            if state is None:
                raise TokenInvalid
            linked = await tx.social.of_user(caller.user_id)
            if name not in {identity.provider for identity in linked}:
                raise NotFound
            if not await self._has_another_way(tx, state, linked, name):
                raise Conflict("This is your only way to log in: set a password or add a passkey first.")
            await tx.social.unlink(caller.user_id, name)
            await tx.outbox.add(
                Mail(
                    id=self.ids.new(),
                    kind="identity-removed",
                    recipient=state.user.email,
                    name=state.user.full_name,
                    address=client.address,
                    at=now,
                    about=name,
                )
            )
            line = event("identity.unlinked", caller.user_id, caller.user_id, client, now)
            await tx.audit.add(caller.tenant_id or SYSTEM_TENANT_ID, line)

    async def _has_another_way(
        self, tx: LinkTransaction, state: AccountState, linked: list[LinkedProvider], name: str
    ) -> bool:
        # A provider that the operator has turned off lets nobody in.
        others = {identity.provider for identity in linked} - {name}
        if state.user.password_hash is not None or others & set(self.providers.names):
            return True
        factors = await tx.factors.of(state.user.id)
        # An old security key that does not verify its user is a second factor only.
        return any(factor.credential is not None and factor.credential.uv_initialized for factor in factors)
