"""The end of one session, by the refresh token that stands for it."""

from dataclasses import dataclass

from application.ports.database import Database
from application.ports.identity.sessions import RefreshTokens, SessionTransaction
from application.ports.runtime import Clock
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.scope import SYSTEM_TENANT_ID, Client, EveryTenant, event, session_subject


@dataclass(frozen=True)
class SignOut:
    database: Database[SessionTransaction]
    refresh_tokens: RefreshTokens
    revocations: Revocations
    clock: Clock

    @retry_on_conflict
    async def end(self, refresh_token: str, client: Client) -> None:
        """Ends the session at once, its access tokens too; a token of no session that lives ends nothing.

        A token that was used before ends its session as well: shown to refresh, it would do the same.
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
            # of two requests that end it at once, one writes the line of the audit trail
            if await tx.sessions.end(session.id, now):
                line = event("session.ended", session.user_id, session.id, client, now)
                await tx.audit.add(session.tenant_id or SYSTEM_TENANT_ID, line)
