"""End of sessions: by refresh token, by logout of all, or after reuse of a token."""

from dataclasses import dataclass

from application.audit import record_own
from application.ports.database import Database
from application.ports.identity.sessions import RefreshTokens, SessionTransaction
from application.ports.identity.users import notice
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.identity.tokens import Session
from domain.identity.users import User
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event, session_subject, user_subject


@dataclass(frozen=True)
class SignOut:
    database: Database[SessionTransaction]
    refresh_tokens: RefreshTokens
    revocations: Revocations
    clock: Clock
    ids: Ids

    @retry_on_conflict
    async def end(self, refresh_token: str, client: Client) -> None:
        """End the session and its access tokens at once; ignore a token without a live session.

        A token that was used before also ends its session, as on a refresh.
        """
        opened = self.refresh_tokens.open(refresh_token)
        if opened is None:
            return
        async with self.database.read_only(EveryTenant()) as read:
            session = await read.sessions.by_id(opened.session_id)
        if session is None or session.ended_at is not None:
            return
        now, subjects = self.clock.now(), (session_subject(session.id),)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            published.update(await tx.token_versions.bump(subjects))
            await tx.token_versions.end(subjects, now)
            # Only one of two concurrent requests writes the audit trail entry.
            if await tx.sessions.end(session.id, now):
                line = event("session.ended", session.user_id, session.id, client, now)
                await tx.audit.add(session.tenant_id or SYSTEM_TENANT_ID, line)

    @retry_on_conflict
    async def logout(self, caller: Caller, client: Client) -> None:
        """End every session of the user, on every replica at once."""
        now = self.clock.now()
        subjects = (user_subject(caller.user_id),)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            published.update(await tx.token_versions.bump(subjects))
            await tx.users.end_sessions(caller.user_id, now)
            await record_own(tx, "logout", caller.user_id, caller.tenant_id, client, self.clock.now())

    @retry_on_conflict
    async def end_stolen(self, session: Session, user: User, client: Client) -> None:
        """End a session after a second use of its token or code, which indicates theft. Mail its user."""
        now, subjects = self.clock.now(), (session_subject(session.id),)
        mail = notice(self.ids.new(), "session-stolen", user, now, client=client)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            published.update(await tx.token_versions.bump(subjects))
            await tx.token_versions.end(subjects, now)
            # Only one of several parallel replays of a stolen token sends the mail.
            if await tx.sessions.end(session.id, now):
                await tx.outbox.add(mail)
            await record_own(tx, "session.stolen", session.user_id, session.tenant_id, client, now)
