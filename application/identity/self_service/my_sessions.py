"""Sessions of the caller: list them and end one."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from application.ports.database import Database
from application.ports.identity.sessions import SessionTransaction
from application.ports.runtime import Clock
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.errors import NotFound
from domain.identity.tokens import Lifetimes, Session
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event, session_subject


class SessionItem(Struct, rename="camel", kw_only=True):
    """A session in the list; ``id`` is the claim ``sid`` of its tokens, ``address`` the client's at login."""

    id: UUID
    device: str
    address: str
    created_at: datetime
    last_used_at: datetime
    is_current: bool


class SessionList(Struct, rename="camel", kw_only=True):
    items: list[SessionItem]


def shown_sessions(sessions: Iterable[Session], caller: Caller) -> SessionList:
    """Return the sessions for a response; ``isCurrent`` marks the caller's own."""
    return SessionList(
        items=[
            SessionItem(
                id=session.id,
                device=session.device,
                address=session.address,
                created_at=session.created_at,
                last_used_at=session.rotated_at,
                is_current=session.id == caller.session_id,
            )
            for session in sessions
        ]
    )


@dataclass(frozen=True)
class MySessions:
    """Sessions of the caller: listed, and ended singly or all together.

    ``recent`` is the maximum age of a proof for ending other sessions than the caller's own.
    """

    database: Database[SessionTransaction]
    revocations: Revocations
    clock: Clock
    lifetimes: Lifetimes
    recent: timedelta

    async def all(self, caller: Caller) -> SessionList:
        """Return the caller's sessions, last used first."""
        now = self.clock.now()
        async with self.database.read_only(EveryTenant()) as read:
            living = await read.sessions.living(caller.user_id, now, self.lifetimes)
        return shown_sessions(living, caller)

    @retry_on_conflict
    async def end(self, caller: Caller, session_id: UUID, client: Client) -> None:
        """End a session of the caller and revoke its access tokens at once.

        Raises ReauthenticationRequired for a session other than the caller's without a recent proof. Raises NotFound
        for an unknown session and for another user's session.
        """
        now = self.clock.now()
        # Security: a thief with a stolen token must not lock out the owner (ASVS 7.5.2).
        if session_id != caller.session_id:
            caller.ensure_recent(now, self.recent)
        await self._ensure_own(caller, session_id)
        subjects = (session_subject(session_id),)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            published.update(await tx.token_versions.bump(subjects))
            await tx.token_versions.end(subjects, now)
            # The session may have ended since the lookup.
            if not await tx.sessions.end(session_id, now):
                raise NotFound
            line = event("session.ended", caller.user_id, session_id, client, now)
            await tx.audit.add(caller.tenant_id or SYSTEM_TENANT_ID, line)

    async def _ensure_own(self, caller: Caller, session_id: UUID) -> None:
        async with self.database.read_only(EveryTenant()) as read:
            session = await read.sessions.by_id(session_id)
        if session is None or session.user_id != caller.user_id:
            raise NotFound
