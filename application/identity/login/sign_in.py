"""Login by password, and the second step of every login."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from application.audit import record_own
from application.identity.joining.domain_joining import DomainJoining
from application.identity.login.authentication import PasswordAuthentication
from application.identity.login.forms import (
    LoginForm,
    LoginResult,
)
from application.identity.login.issuing import TokenIssuing
from application.identity.login.keyed_locks import KeyedLocks
from application.ports.database import Database
from application.ports.identity.sessions import SessionTransaction
from application.ports.identity.users import own_notice
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Cache, Revocations, profile_key
from application.retry import retry_on_conflict
from domain.errors import (
    AccountDisabled,
    EmailNotConfirmed,
    Forbidden,
    InvalidCredentials,
    MfaRequired,
)
from domain.identity.logins import Login
from domain.identity.tokens import (
    Session,
)
from domain.identity.users import User, attempts_key, ensure_may_sign_in
from domain.scope import Client, EveryTenant, event, session_subject


@dataclass(frozen=True)
class SignIn:
    database: Database[SessionTransaction]
    authentication: PasswordAuthentication
    issuing: TokenIssuing
    revocations: Revocations
    cache: Cache
    clock: Clock
    ids: Ids
    joining: DomainJoining
    locks: KeyedLocks

    async def login(self, form: LoginForm, client: Client) -> LoginResult:
        """Log in by password; a process runs one login at a time for each address and network.

        Each login counts as a guess until it is verified: otherwise six correct parallel logins would lock the account.
        """
        async with self.locks.locked((attempts_key(form.email), client.network)):
            return await self.complete_login(await self.authentication.by_password(form, client), client)

    async def complete_login(self, login: Login, client: Client) -> LoginResult:
        """Complete a verified account's login: choose the tenant, start the session and issue the tokens."""
        user = login.state.user
        # After a second factor, the first step of the login has already refunded the attempt.
        is_counted = login.by_password and "mfa" not in login.methods
        try:
            result = await self._start_session(login, client)
        except MfaRequired:
            await self._note_challenge(user, client, gives_back=is_counted)
            raise
        except (AccountDisabled, EmailNotConfirmed, Forbidden, InvalidCredentials) as refusal:
            # A correct password refused for another reason is not a guess: refund it.
            knew = is_counted and not isinstance(refusal, InvalidCredentials)
            await self.note_refusal(user, client, gives_back=knew)
            raise
        await self.cache.drop([profile_key(user.id)])
        return result

    @retry_on_conflict
    async def note_refusal(self, user: User | None, client: Client, *, gives_back: bool = False) -> None:
        """Record a failed login in the audit trail; ``gives_back`` refunds the counted attempt."""
        async with self.database.transaction(EveryTenant()) as tx:
            if user is not None and gives_back:
                await tx.attempts.release(user.email_key, client.network)
            await record_own(tx, "login.failed", user.id if user else None, None, client, self.clock.now())

    @retry_on_conflict
    async def _note_challenge(self, user: User, client: Client, *, gives_back: bool) -> None:
        async with self.database.transaction(EveryTenant()) as tx:
            if gives_back:
                await tx.attempts.release(user.email_key, client.network)
            await record_own(tx, "login.challenged", user.id, None, client, self.clock.now())

    @retry_on_conflict
    async def _start_session(self, login: Login, client: Client) -> LoginResult:
        ensure_may_sign_in(login.state.user, confirmation_required=self.issuing.policy.confirm_email)
        login = await self.joining.joined(login, client)
        login = await self.issuing.with_tenant(login)
        now = self.clock.now()
        login = self.issuing.gate.passed(login, now)
        login = await self._with_session(login, client, now)
        await self._store(login, client, now)
        return self.issuing.login_result(login, now)

    async def _with_session(self, login: Login, client: Client, now: datetime) -> Login:
        """The login with its new session, not yet stored, and the claims of its token."""
        user, membership = login.state.user, login.membership
        session = Session(
            id=self.ids.new(),
            user_id=user.id,
            tenant_id=membership.tenant_id if membership else None,
            counter=1,
            created_at=now,
            rotated_at=now,
            app_id=login.app_id or None,
            address=client.address,
            device=client.device,
            methods=login.methods,
            authenticated_at=now,
            is_first_login=user.last_login_at is None,
        )
        claims = await self.issuing.authorised_claims(login.state, membership, session, now, stored=None)
        return replace(login, session=session, claims=claims)

    async def _store(self, login: Login, client: Client, now: datetime) -> None:
        user = login.state.user
        line = event("login.succeeded", user.id, user.id, client, now)
        # A social login proves nothing about the password, so the failure count stays.
        forgiven = client.network if login.by_password else None
        # A first login needs no notice.
        notice = own_notice(self.ids.new(), "new-device", user, client, now) if user.last_login_at else None
        async with self.database.autocommit(EveryTenant()) as tx:
            ended = await tx.sessions.begin(login, line, forgiven=forgiven, notice=notice)
        # The account changed since the verification: it has another password or owner, or was deleted.
        if ended is None:
            raise InvalidCredentials
        if ended:
            await self._revoke(ended, now)

    @retry_on_conflict
    async def _revoke(self, sessions: Sequence[UUID], now: datetime) -> None:
        subjects = tuple(session_subject(session_id) for session_id in sessions)
        async with self.revocations.publishing(subjects) as published, self.database.autocommit(EveryTenant()) as tx:
            published.update(await tx.token_versions.bump(subjects, ended_at=now))
