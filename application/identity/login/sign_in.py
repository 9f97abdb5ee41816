"""Signing in and out: login, refresh, switch of the tenant, logout."""

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
    RefreshForm,
    RefreshResult,
    SwitchForm,
    SwitchResult,
)
from application.identity.login.issuing import TokenIssuing
from application.identity.login.keyed_locks import KeyedLocks
from application.ports.database import Database
from application.ports.identity.sessions import SessionTransaction
from application.ports.identity.users import notice, own_notice
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Cache, Revocations, profile_key
from application.retry import retry_on_conflict
from domain.errors import (
    AccountDisabled,
    EmailNotConfirmed,
    Forbidden,
    InvalidCredentials,
    MfaRequired,
    ReauthenticationRequired,
    SerializationConflict,
    TokenExpired,
    TokenInvalid,
)
from domain.identity.logins import Login
from domain.identity.tokens import (
    Claims,
    RefreshOutcome,
    Session,
    membership_in,
    proved_by,
    refresh_outcome,
    refreshed_once_more,
)
from domain.identity.users import AccountState, User, attempts_key, ensure_may_sign_in
from domain.scope import Caller, Client, EveryTenant, event, session_subject, user_subject


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
        """Logs in by password, one login at a time for an address and network in a process.

        Each counts as a guess until its password has proved right: in parallel, six right ones would lock the account
        for the last of them.
        """
        async with self.locks.locked((attempts_key(form.email), client.network)):
            return await self.complete_login(await self.authentication.by_password(form, client), client)

    async def complete_login(self, login: Login, client: Client) -> LoginResult:
        """Completes the login of a verified account: chooses the tenant, starts the session and issues the tokens."""
        user = login.state.user
        # Whoever shows a second factor comes here again: the attempt was given back the first time.
        is_counted = login.by_password and "mfa" not in login.methods
        try:
            result = await self._start_session(login, client)
        except MfaRequired:
            await self._note_challenge(user, client, gives_back=is_counted)
            raise
        except (AccountDisabled, EmailNotConfirmed, Forbidden, InvalidCredentials) as refusal:
            # A user who knew the password and is refused for another reason has not guessed: the attempt is given back.
            knew = is_counted and not isinstance(refusal, InvalidCredentials)
            await self.note_refusal(user, client, gives_back=knew)
            raise
        await self.cache.drop([profile_key(user.id)])
        return result

    @retry_on_conflict
    async def note_refusal(self, user: User | None, client: Client, *, gives_back: bool = False) -> None:
        """Records a failed login in the audit trail; ``gives_back`` takes the attempt back that was counted for it."""
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
        """The login with its session, which is not stored yet, and the claims of its token."""
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
        # A social login proves nothing about the password, so it does not reset the count of failures.
        forgiven = client.network if login.by_password else None
        # Nobody needs to hear of their own first login.
        notice = own_notice(self.ids.new(), "new-device", user, client, now) if user.last_login_at else None
        async with self.database.autocommit(EveryTenant()) as tx:
            ended = await tx.sessions.begin(login, line, forgiven=forgiven, notice=notice)
        # The account changed since it was verified: its password, its owner, or its existence.
        if ended is None:
            raise InvalidCredentials
        if ended:
            await self._revoke(ended, now)

    @retry_on_conflict
    async def _revoke(self, sessions: Sequence[UUID], now: datetime) -> None:
        subjects = tuple(session_subject(session_id) for session_id in sessions)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            published.update(await tx.token_versions.bump(subjects))
            await tx.token_versions.end(subjects, now)

    async def refresh(self, form: RefreshForm, client: Client) -> RefreshResult:
        opened = self.issuing.refresh_tokens.open(form.refresh_token)
        if opened is None:
            raise TokenInvalid("The refresh token is not valid.")
        session, state = await self.issuing.session(opened.session_id)
        now = self.clock.now()
        lifetimes = self.issuing.gate.lifetimes(state, session.tenant_id, self.issuing.policy.lifetimes)
        outcome = refresh_outcome(session, opened.counter, now, lifetimes)
        # RFC 9700: a reused refresh token ends the session, since the thief may hold its successor.
        if outcome is RefreshOutcome.STOLEN:
            await self.end_stolen(session, state.user, client)
            raise TokenInvalid("The refresh token was used before: the session has been ended.")
        if outcome is RefreshOutcome.EXPIRED:
            raise TokenExpired("The session has expired: log in again.")
        if outcome is RefreshOutcome.DEAD:
            raise TokenInvalid("The session has ended.")
        # Checked at every refresh: a disabled account ends with its current access token.
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        carry_on = self._refreshed if outcome is RefreshOutcome.FRESH else self._again
        before = session.tenant_id
        try:
            session, claims = await carry_on(session, state, form.tenant_id, now)
        except ReauthenticationRequired:
            # Without an access token that lives there is no other way to show it: the login leads to the enrolment.
            raise TokenExpired("The session has expired: log in again.") from None
        if session.tenant_id != before:
            async with self.database.transaction(EveryTenant()) as tx:
                await record_own(tx, "tenant.switched", state.user.id, session.tenant_id, client, now)
        return self.issuing.refresh_result(claims, session, now)

    @retry_on_conflict
    async def switch_tenant(self, caller: Caller, form: SwitchForm, client: Client) -> SwitchResult:
        session, state = await self.issuing.session(caller.session_id)
        now = self.clock.now()
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        state = await self.issuing.with_visited_tenant(state, form.tenant_id)
        membership = membership_in(state.memberships, form.tenant_id)
        # Before the rotation: a switch that is refused must leave the refresh token usable.
        claims = await self.issuing.authorised_claims(state, membership, session, now, stored=session)
        session = await self.issuing.rotate(session, membership.tenant_id, now)
        if session.tenant_id != membership.tenant_id:
            # Another refresh or switch won the race: this switch is retried on the session as it is now.
            raise SerializationConflict
        async with self.database.transaction(EveryTenant()) as tx:
            await record_own(tx, "tenant.switched", caller.user_id, membership.tenant_id, client, self.clock.now())
        return self.issuing.switch_result(claims, session, membership, now)

    @retry_on_conflict
    async def enter(
        self, session_id: UUID, tenant_id: UUID | None, methods: tuple[str, ...], client: Client
    ) -> SwitchResult | RefreshResult:
        """Takes a session into the tenant that it was kept out of, once its user has shown ``methods`` as well.

        Without a tenant it goes on choosing one.
        """
        session, state = await self.issuing.session(session_id)
        if session.ended_at is not None:
            raise TokenInvalid("The session has ended.")
        now = self.clock.now()
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        state = await self.issuing.with_visited_tenant(state, tenant_id)
        membership = membership_in(state.memberships, tenant_id) if tenant_id else None
        renewed = proved_by(self.issuing.rotated(session, tenant_id, now), methods, now)
        claims = await self.issuing.authorised_claims(state, membership, renewed, now, stored=session)
        async with self.database.transaction(EveryTenant()) as tx:
            # Another refresh or switch won the race: this one is retried on the session as it is now.
            if not await tx.sessions.rotate(renewed, seen=session.counter):
                raise SerializationConflict
            await record_own(tx, "tenant.switched", state.user.id, tenant_id, client, self.clock.now())
        if membership is None:
            return self.issuing.refresh_result(claims, renewed, now)
        return self.issuing.switch_result(claims, renewed, membership, now)

    @retry_on_conflict
    async def logout(self, caller: Caller, client: Client) -> None:
        """Ends every session of the user, on every replica at once."""
        now = self.clock.now()
        subjects = (user_subject(caller.user_id),)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            published.update(await tx.token_versions.bump(subjects))
            await tx.users.end_sessions(caller.user_id, now)
            await record_own(tx, "logout", caller.user_id, caller.tenant_id, client, self.clock.now())

    async def _refreshed(
        self, session: Session, state: AccountState, asked: UUID | None, now: datetime
    ) -> tuple[Session, Claims]:
        wanted = asked or session.tenant_id
        claims = await self.issuing.issued_claims(session, state, wanted, now, stored=session)
        rotated = await self.issuing.rotate(session, wanted, now)
        if rotated.counter != session.counter + 1:
            raise refreshed_once_more()
        # Another refresh won the race: this one answers with the winner's successor.
        if rotated.tenant_id != wanted:
            return await self._again(rotated, state, asked, now)
        return rotated, claims

    async def _again(
        self, session: Session, state: AccountState, asked: UUID | None, now: datetime
    ) -> tuple[Session, Claims]:
        """Claims for the successor that another refresh made, and its session, in the tenant that is asked for."""
        wanted = asked or session.tenant_id
        claims = await self.issuing.issued_claims(session, state, wanted, now, stored=session)
        if asked is None or asked == session.tenant_id:
            return session, claims
        # The counter stays: the successor is the same, and its time of grace begins no second time.
        moved = replace(session, tenant_id=asked)
        async with self.database.autocommit(EveryTenant()) as tx:
            if await tx.sessions.rotate(moved, seen=session.counter):
                return moved, claims
            current = await tx.sessions.by_id(session.id)
        if current is None or current.ended_at is not None:
            raise TokenInvalid("The session has ended.")
        raise refreshed_once_more()

    @retry_on_conflict
    async def end_stolen(self, session: Session, user: User, client: Client) -> None:
        """Ends a session whose token or code was used twice: one of the two users is a thief. Its user gets a mail."""
        now, subjects = self.clock.now(), (session_subject(session.id),)
        mail = notice(self.ids.new(), "session-stolen", user, now, client=client)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            published.update(await tx.token_versions.bump(subjects))
            await tx.token_versions.end(subjects, now)
            # Parallel replays of a stolen token send one mail.
            if await tx.sessions.end(session.id, now):
                await tx.outbox.add(mail)
            await record_own(tx, "session.stolen", session.user_id, session.tenant_id, client, now)
