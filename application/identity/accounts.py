"""What account holders do for themselves: confirm an address, reset and change a password."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from application.identity.login.encrypted_passwords import PasswordReader
from application.ports.cache import Cache
from application.ports.clock import Clock, Ids
from application.ports.database import Database
from application.ports.identity.accounts import AccountTransaction as AccountRooms
from application.ports.identity.accounts import OneTimeToken, Purpose
from application.ports.outbox import Mail, MailKind
from application.ports.passwords import Passwords
from application.ports.revocation import Revocations
from application.retry import retry_on_conflict
from domain.audit import Client, event
from domain.errors import AccountLocked, TokenInvalid, TooBusy, ValidationError
from domain.identity.token_versions import ensure_alive, user_subject
from domain.identity.users import (
    Lockout,
    User,
    email_key,
    normal_password,
    password_errors,
    profile_key,
    token_hash,
)
from domain.scope import SYSTEM_TENANT_ID, Caller, EveryTenant


class EmailForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: str


class ConfirmForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: str
    token: str


class ResetForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: str
    token: str
    new_password: str
    is_password_encrypted: bool | UnsetType = UNSET


class ChangeForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """``is_password_encrypted`` speaks of both."""

    current_password: str
    new_password: str
    is_password_encrypted: bool | UnsetType = UNSET


@dataclass(frozen=True)
class Accounts:
    database: Database[AccountRooms]
    passwords: Passwords
    password_reader: PasswordReader
    revocations: Revocations
    cache: Cache
    clock: Clock
    ids: Ids
    lockout: Lockout

    async def request_link(self, kind: MailKind, form: EmailForm) -> None:
        """One line in the outbox, whether or not the address has an account: that is found out when it is sent."""
        key = email_key(form.email)
        if key is None:
            raise ValidationError.on("email", "is not an e-mail address")
        mail = Mail(id=self.ids.new(), kind=kind, recipient=key, at=self.clock.now())
        async with self.database.autocommit(EveryTenant()) as tx:
            await tx.outbox.add(mail)

    @retry_on_conflict
    async def confirm_email(self, form: ConfirmForm, client: Client) -> None:
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            token = await self._living(tx, "confirm", form.email, form.token)
            await self._confirm(tx, token, now)
            await self._audit(tx, "email.confirmed", token.user_id, client)
        await self.cache.drop([profile_key(token.user_id)])

    async def reset_password(self, form: ResetForm, client: Client) -> None:
        """Ends every session, lifts the lock and confirms the address; a password refused spends no token."""
        password = await self.password_reader.read(form.new_password, form.is_password_encrypted, "newPassword")
        async with self.database.read_only(EveryTenant()) as read:
            token = await self._living(read, "reset", form.email, form.token)
            state = await read.users.state(token.user_id)
        if state is None or not state.user.is_active:
            raise wrong_token()
        user = state.user
        ensure_good(password, user)
        await self._reset(token, user, await self.passwords.hash(normal_password(password)), client)
        await self.cache.drop([profile_key(user.id)])

    @retry_on_conflict
    async def _reset(self, token: OneTimeToken, user: User, hashed: str, client: Client) -> None:
        now, subjects = self.clock.now(), (user_subject(user.id),)
        async with self.revocations.publishing(subjects) as published:
            async with self.database.transaction(EveryTenant()) as tx:
                await tx.credentials.set_password(user.id, hashed, now)
                await tx.attempts.unlock(user.email_key)
                await self._confirm(tx, token, now)
                if not user.email_proved:
                    await tx.social.unlink_all(user.id)  # whoever linked them never showed that the address is theirs
                counts = await self._begin_anew(tx, user, subjects, now)
                await self._audit(tx, "password.reset", user.id, client)
                await tx.outbox.add(self._notice(user, client, now))
            published.update(counts)

    async def change_password(self, caller: Caller, form: ChangeForm, client: Client) -> None:
        """Every session of the user ends, the caller's own included."""
        encrypted = form.is_password_encrypted
        current = await self.password_reader.read(form.current_password, encrypted, "currentPassword")
        new = await self.password_reader.read(form.new_password, encrypted, "newPassword")
        async with self.database.read_only(EveryTenant()) as read:
            state = await read.users.state(caller.user_id)
        if state is None:
            raise TokenInvalid
        user = state.user
        ensure_good(new, user)
        await self._change(caller, user, await self._exchanged(user, current, new, client), client)

    @retry_on_conflict
    async def _change(self, caller: Caller, user: User, hashed: str, client: Client) -> None:
        """Rows are locked in the order of a login: the account, then its attempts, then its sessions."""
        now, subjects = self.clock.now(), (user_subject(user.id),)
        async with self.revocations.publishing(subjects) as published:
            async with self.database.transaction(EveryTenant()) as tx:
                await tx.credentials.set_password(user.id, hashed, now)
                await tx.attempts.forgive(user.email_key, client.network, now)
                ensure_alive({one: caller.issued[one] for one in subjects}, await tx.token_versions.of(subjects))
                await tx.one_time_tokens.forget(user.id, ["reset"], now)
                counts = await self._begin_anew(tx, user, subjects, now)
                await self._audit(tx, "password.changed", user.id, client, caller.tenant_id)
                await tx.outbox.add(self._notice(user, client, now))
            published.update(counts)

    async def _exchanged(self, user: User, current: str, new: str, client: Client) -> str:
        """The new hash, for who knows the old password. Guesses count towards the lock, as at login."""
        async with self.database.autocommit(EveryTenant()) as tx:
            if not await tx.attempts.reserve(user.email_key, client.network, self.lockout, self.clock.now()):
                raise AccountLocked
        try:
            verified = await self.passwords.verify(current, user.password_hash)
            hashed = await self.passwords.hash(normal_password(new)) if verified else None
        except TooBusy:
            async with self.database.autocommit(EveryTenant()) as tx:
                await tx.attempts.release(user.email_key, client.network)
            raise
        if hashed is None:
            async with self.database.transaction(EveryTenant()) as tx:
                await self._audit(tx, "password.change-refused", user.id, client)
            raise ValidationError.on("currentPassword", "is not your password")
        return hashed

    async def _living(self, tx: AccountRooms, purpose: Purpose, email: str, secret: str) -> OneTimeToken:
        """Looked for by the secret alone: who has none learns nothing about an address, not even by time."""
        token = await tx.one_time_tokens.living(purpose, token_hash(secret), self.clock.now())
        if token is None or token.email_key != email_key(email):
            raise wrong_token()
        return token

    async def _confirm(self, tx: AccountRooms, token: OneTimeToken, now: datetime) -> None:
        """Rows are locked in the order in which a new address locks them: the account, then its tokens."""
        is_theirs = await tx.credentials.confirm_email(token.user_id, token.email_key, now)
        if not is_theirs or not await tx.one_time_tokens.spend(token.purpose, token.hash, now):
            raise wrong_token()
        await tx.one_time_tokens.forget(token.user_id, ["confirm"], now)

    async def _begin_anew(self, tx: AccountRooms, user: User, subjects: Sequence[str], now: datetime) -> dict[str, int]:
        counts = await tx.token_versions.bump(subjects)
        await tx.users.end_sessions(user.id, now)
        return dict(counts)

    async def _audit(
        self, tx: AccountRooms, action: str, user_id: UUID, client: Client, tenant_id: UUID | None = None
    ) -> None:
        line = event(action, user_id, user_id, client, self.clock.now())
        await tx.audit.add(tenant_id or SYSTEM_TENANT_ID, line)

    def _notice(self, user: User, client: Client, now: datetime) -> Mail:
        return Mail(
            id=self.ids.new(),
            kind="password-changed",
            recipient=user.email,
            name=user.full_name,
            address=client.address,
            at=now,
        )


def ensure_good(password: str, user: User) -> None:
    if errors := password_errors(password, email=user.email, full_name=user.full_name, field="newPassword"):
        raise ValidationError(fields=errors)


def wrong_token() -> ValidationError:
    """Wrong, used, expired and replaced alike."""
    return ValidationError.on("token", "is wrong, was used, or has expired: ask for a new mail")
