"""Removal of a user's factors by an administrator, after the user lost them."""

from dataclasses import dataclass
from uuid import UUID

from application.ports.database import Database
from application.ports.identity.factors import FactorTransaction
from application.ports.identity.users import notice
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.errors import NotFound
from domain.identity.administration import ensure_may_change_account, ensure_may_change_owner
from domain.identity.users import guesses_of
from domain.scope import Caller, Client, EveryTenant, event, user_subject


@dataclass(frozen=True)
class FactorResets:
    database: Database[FactorTransaction]
    revocations: Revocations
    clock: Clock
    ids: Ids

    @retry_on_conflict
    async def reset(self, caller: Caller, user_id: UUID, client: Client) -> None:
        """Remove a user's factors, recovery codes and lock for wrong codes, and end the user's sessions.

        Raises NotFound for a user who is only in other tenants. Raises Forbidden for a user who is also in other
        tenants, or has a higher rank than the caller.
        """
        now, subject = self.clock.now(), user_subject(user_id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(user_id)
            state = await tx.users.state(user_id)
            if state is None or not (
                caller.acts_for_all or any(held.tenant_id == caller.tenant_id for held in state.memberships)
            ):
                raise NotFound
            # Security: factors belong to the person, so an admin of one tenant must not reset a member of two.
            ensure_may_change_account(caller, state)
            ensure_may_change_owner(caller, state, await tx.users.state(caller.user_id))
            removed = await tx.factors.remove(user_id, None)
            await tx.recovery_codes.replace(user_id, [])
            # Users often try wrong codes after losing the app: unlock them for the next one.
            await tx.attempts.unlock(guesses_of(user_id))
            published.update(await tx.token_versions.bump([subject]))
            await tx.users.end_sessions(user_id, now)
            line = event("factor.reset", caller.user_id, user_id, client, now)
            tenants = caller.audited_tenants(membership.tenant_id for membership in state.memberships)
            await tx.audit.add_to_each(tenants, line)
            if removed:
                await tx.outbox.add(notice(self.ids.new(), "factor-removed", state.user, now, client=client))
