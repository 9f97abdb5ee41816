"""Sessions of members, as administrators of their tenant see and end them."""

from dataclasses import dataclass
from uuid import UUID

from application.identity.my_sessions import SessionList, shown_sessions
from application.ports.database import Database
from application.ports.identity.sessions import SessionTransaction
from application.ports.runtime import Clock
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.errors import NotFound
from domain.identity.administration import ensure_outranks, ensure_visible
from domain.identity.tokens import Lifetimes, Session
from domain.scope import Caller, Client, EveryTenant, event, session_subject


@dataclass(frozen=True)
class MemberSessions:
    """Sessions in the caller's tenant; from the tenant ``system``, sessions in all tenants and in none."""

    database: Database[SessionTransaction]
    revocations: Revocations
    clock: Clock
    lifetimes: Lifetimes

    async def all(self, caller: Caller, user_id: UUID) -> SessionList:
        """The member's sessions, the last used first. Raises NotFound for a user who is not visible here."""
        async with self.database.read_only(EveryTenant()) as read:
            ensure_visible(caller, await read.users.state(user_id))
            return shown_sessions(await self._here(read, caller, user_id), caller)

    async def end(self, caller: Caller, user_id: UUID, session_id: UUID | None, client: Client) -> None:
        """Ends a session of the member, or with None all of them; their access tokens are revoked at once.

        Raises NotFound, also for a session in another tenant, and Forbidden for a user who holds more than the caller.
        """
        async with self.database.read_only(EveryTenant()) as read:
            ensure_outranks(caller, ensure_visible(caller, await read.users.state(user_id)))
            here = await self._here(read, caller, user_id)
        ended = [session for session in here if session_id in (None, session.id)]
        if session_id is not None and not ended:
            raise NotFound
        if ended:
            await self._end(caller, user_id, ended, client)

    @retry_on_conflict
    async def _end(self, caller: Caller, user_id: UUID, ended: list[Session], client: Client) -> None:
        now, subjects = self.clock.now(), [session_subject(session.id) for session in ended]
        async with self.revocations.publishing(subjects) as published:
            async with self.database.transaction(EveryTenant()) as tx:
                versions = await tx.token_versions.bump(subjects)
                await tx.token_versions.end(subjects, now)
                for session in ended:
                    # it may have ended by itself since it was looked up
                    await tx.sessions.end(session.id, now)
                line = event("user.sessions-ended", caller.user_id, user_id, client, now)
                await tx.audit.add(caller.tenant.id, line)
            published.update(versions)

    async def _here(self, tx: SessionTransaction, caller: Caller, user_id: UUID) -> list[Session]:
        living = await tx.sessions.living(user_id, self.clock.now(), self.lifetimes)
        # Security: where else a member works is no business of this tenant.
        return [session for session in living if caller.acts_for_all or session.tenant_id == caller.tenant_id]
