"""One-time codes for applications, from the service's own pages, in place of tokens (RFC 6749, 4.1, with PKCE)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NoReturn, Protocol
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from application.identity.hosted_login.first_use import is_first_use
from application.identity.hosted_login.targets import Target, Targets
from application.identity.login.forms import LoginResult
from application.identity.login.renewal import SessionRenewal
from application.identity.login.sign_out import SignOut
from application.ports.database import Database
from application.ports.identity.passwords import NonceTransaction
from application.ports.identity.sessions import SessionTransaction, Tickets
from application.ports.runtime import Clock, CodeOutcomes
from domain.errors import Forbidden, ReauthenticationRequired, TokenExpired, TokenInvalid, ValidationError
from domain.identity.redirects import is_answer
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event

LIVES = timedelta(seconds=60)
"""Time to exchange a code."""

WATCHED = timedelta(days=1)
"""Time in which a second use of a code is detected."""


class CodeForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    redirect: str
    code_challenge: str


class ExchangeForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    code: str
    code_verifier: str


class LoginCode(Struct, rename="camel", kw_only=True):
    code: str
    expires_at: datetime


class CodeContent(Struct, frozen=True, kw_only=True):
    """Content of a code: the session, and the application that receives it."""

    session_id: UUID
    target: Target
    expires_at: datetime


class CodeTransaction(SessionTransaction, NonceTransaction, Protocol):
    """Transaction with the tables for one-time codes."""


@dataclass(frozen=True)
class LoginCodes:
    database: Database[CodeTransaction]
    tickets: Tickets
    targets: Targets
    renewal: SessionRenewal
    sign_out: SignOut
    outcomes: CodeOutcomes
    clock: Clock

    async def make(self, caller: Caller, form: CodeForm) -> LoginCode:
        """Create a code for the caller's session. Raises Forbidden without an application, and ValidationError."""
        # Security: an application gets only its own sessions.
        if caller.app_id is None:
            raise Forbidden("This login is for no application: log in with X-App-Id to hand it over.")
        target = Target(app_id=caller.app_id, redirect=form.redirect, challenge=form.code_challenge)
        await self.targets.ensure(target)
        return self.seal(caller.session_id, target)

    def seal(self, session_id: UUID, target: Target) -> LoginCode:
        """Create a code for a new session, for a checked target."""
        now = self.clock.now()
        self.outcomes.count("issued")
        # The redirect address returns the state to the application, so the code need not contain it.
        content = CodeContent(session_id=session_id, target=replace(target, state=None), expires_at=now + LIVES)
        return LoginCode(code=self.tickets.seal("code", content, now + WATCHED), expires_at=content.expires_at)

    async def exchange(self, form: ExchangeForm, app_id: str | None, client: Client) -> LoginResult:
        """Exchange the code for its session; return the result of a login.

        A code is valid for one try, successful or not; its second use ends the session. Raises ValidationError on
        ``code``, the same for every wrong code, and the errors of a login: the service checks account, tenant and
        second factor again.
        """
        opened = self.tickets.open("code", form.code, CodeContent, self.clock.now())
        # Security: check the verifier first, so that an attacker who saw the code can neither use nor invalidate it.
        if opened is None or not is_answer(form.code_verifier, opened.content.target.challenge):
            await self._refuse(None, client)
        content = opened.content
        if app_id is not None and app_id != content.target.app_id:
            await self._refuse(None, client)
        if not await is_first_use(self.database, opened, self.clock.now()):
            await self._end_stolen(content.session_id, client)
            await self._refuse(content.session_id, client)
        if self.clock.now() >= content.expires_at:
            await self._refuse(content.session_id, client)
        try:
            await self.targets.ensure(content.target)
            result = await self.renewal.resume(content.session_id, client)
        except (ReauthenticationRequired, ValidationError, TokenExpired, TokenInvalid):
            # The session ended, or the registration changed since.
            await self._refuse(content.session_id, client)
        self.outcomes.count("redeemed")
        return result

    async def _end_stolen(self, session_id: UUID, client: Client) -> None:
        async with self.database.read_only(EveryTenant()) as read:
            found = await read.sessions.with_account_state(session_id)
        if found is not None:
            session, state = found
            await self.sign_out.end_stolen(session, state.user, client)

    async def _refuse(self, session_id: UUID | None, client: Client) -> NoReturn:
        self.outcomes.count("refused")
        async with self.database.autocommit(EveryTenant()) as tx:
            await tx.audit.add(SYSTEM_TENANT_ID, event("code.refused", None, session_id, client, self.clock.now()))
        raise ValidationError.on("code", "is wrong, was used, has expired, or is another application's: log in again")
