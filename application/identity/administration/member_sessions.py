"""Sessions of members, listed and ended by administrators of their tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from application.audit import record, record_on_member
from application.identity.self_service.my_sessions import SessionList, shown_sessions
from application.ports.database import Database
from application.ports.identity.sessions import SessionTransaction
from application.ports.runtime import Clock
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.errors import NotFound
from domain.identity.administration import ensure_outranks, ensure_visible
from domain.identity.tokens import Lifetimes, Session
from domain.scope import Caller, Client, EveryTenant, grants_subject, session_subject


@dataclass(frozen=True)
class MemberSessions:
    """Sessions in the caller's tenant; for the tenant ``system``, sessions in all tenants and in none."""

    database: Database[SessionTransaction]
    revocations: Revocations
    clock: Clock
    lifetimes: Lifetimes

    async def all(self, caller: Caller, user_id: UUID) -> SessionList:
        """Return the member's sessions, last used first. Raises NotFound for a user that the caller may not see."""
        async with self.database.read_only(EveryTenant()) as read:
            ensure_visible(caller, await read.users.state(user_id))
            return shown_sessions(await self._here(read, caller, user_id), caller)

    async def end(self, caller: Caller, user_id: UUID, session_id: UUID | None, client: Client) -> None:
        """End a session of the member, or all for None; their access tokens are revoked at once.

        A session already moved to another tenant continues, but needs a new proof for this tenant. Raises NotFound,
        also for a session in another tenant, and Forbidden for a user with more rights than the caller.
        """
        async with self.database.read_only(EveryTenant()) as read:
            ensure_outranks(caller, ensure_visible(caller, await read.users.state(user_id)))
            here = [session.id for session in await self._here(read, caller, user_id)]
        if session_id is None:
            await self._end_all(caller, user_id, here, client)
        elif session_id in here:
            await self._end_one(caller, session_id, client)
        else:
            raise NotFound

    @retry_on_conflict
    async def _end_one(self, caller: Caller, session_id: UUID, client: Client) -> None:
        now, subjects = self.clock.now(), [session_subject(session_id)]
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            published.update(await tx.token_versions.bump(subjects, ended_at=now))
            # The session may have ended since the lookup.
            await tx.sessions.end(session_id, now)
            await record(tx, "session.ended", caller, session_id, client, now)

    @retry_on_conflict
    async def _end_all(self, caller: Caller, user_id: UUID, here: Sequence[UUID], client: Client) -> None:
        now, sessions = self.clock.now(), [session_subject(session_id) for session_id in here]
        # Also end this tenant's tokens of sessions that are now in other tenants. The tokens of other tenants become
        # stale until their refresh.
        subjects = [*sessions, grants_subject(user_id)]
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(user_id)
            state = ensure_visible(caller, await tx.users.state(user_id))
            published.update(await tx.token_versions.bump(subjects))
            await tx.token_versions.end(sessions, now)
            for session_id in here:
                await tx.sessions.end(session_id, now)
            await tx.sessions.keep_out(user_id, caller.tenant.id, now)
            await record_on_member(tx, "user.sessions-ended", caller, state, client, now)

    async def _here(self, tx: SessionTransaction, caller: Caller, user_id: UUID) -> list[Session]:
        living = await tx.sessions.living(user_id, self.clock.now(), self.lifetimes)
        # Security: administrators of this tenant must not see a member's sessions in other tenants.
        return [session for session in living if caller.acts_for_all or session.tenant_id == caller.tenant_id]
