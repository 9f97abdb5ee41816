"""The caller's accounts at social providers: list and unlink."""

from dataclasses import dataclass

from application.audit import record_own
from application.identity.self_service.login_methods import LoginMethodTransaction, ensure_login_method
from application.ports.database import Database
from application.ports.identity.accounts import LinkedProvider, SocialProviders
from application.ports.identity.users import own_notice
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Cache, profile_key
from application.retry import retry_on_conflict
from domain.errors import NotFound, TokenInvalid
from domain.scope import Caller, Client, EveryTenant


@dataclass(frozen=True)
class LinkedIdentities:
    database: Database[LoginMethodTransaction]
    providers: SocialProviders
    cache: Cache
    clock: Clock
    ids: Ids

    async def all(self, caller: Caller) -> list[LinkedProvider]:
        """Return the caller's identities in the order of linking."""
        async with self.database.read_only(EveryTenant()) as read:
            return await read.social.of_user(caller.user_id)

    async def unlink(self, caller: Caller, provider: str, client: Client) -> None:
        """Unlink an identity. Raises NotFound, and Conflict without another way to log in."""
        await self._unlink(caller, provider, client)
        # Drop the cached profile after the commit: before it, a reader could cache the old one again.
        await self.cache.drop([profile_key(caller.user_id)])

    @retry_on_conflict
    async def _unlink(self, caller: Caller, provider: str, client: Client) -> None:
        now, name = self.clock.now(), provider.casefold()
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(caller.user_id)
            state = await tx.users.state(caller.user_id)
            if state is None:
                raise TokenInvalid
            linked = await tx.social.of_user(caller.user_id)
            if name not in {identity.provider for identity in linked}:
                raise NotFound
            await tx.social.unlink(caller.user_id, name)
            await ensure_login_method(tx, state.user, self.providers.names)
            told = own_notice(self.ids.new(), "identity-removed", state.user, client, now, about=name)
            await tx.outbox.add(told)
            await record_own(tx, "identity.unlinked", caller.user_id, caller.tenant_id, client, now)
