"""Use cases of account holders: confirming an address, and resetting or changing a password."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from application.audit import record_by_mail, record_own
from application.identity.passwords.encrypted_passwords import PasswordReader
from application.identity.passwords.password_rules import PasswordRules, names_of
from application.identity.self_service.email_changes import EmailChangeRequests
from application.ports.database import Database, Mail, MailKind
from application.ports.identity.accounts import AccountTransaction, OneTimeToken, Purpose
from application.ports.identity.users import own_notice
from application.ports.runtime import Clock, Ids, Passwords
from application.ports.shared_memory import Cache, Revocations, profile_key
from application.retry import retry_on_conflict
from domain.errors import AccountLocked, TokenInvalid, TooBusy, ValidationError
from domain.identity.typed_codes import token_hash
from domain.identity.users import AccountState, NewPassword, User, email_key, normal_password
from domain.lockout import Lockout
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, ensure_alive, event, user_subject


class EmailForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: str


class ConfirmForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: str
    token: str


class ResetForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: str
    token: str
    new_password: NewPassword
    is_password_encrypted: bool | UnsetType = UNSET


class ChangeForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a password change; ``isPasswordEncrypted`` applies to both passwords."""

    current_password: str
    new_password: NewPassword
    is_password_encrypted: bool | UnsetType = UNSET


@dataclass(frozen=True)
class Accounts:
    database: Database[AccountTransaction]
    passwords: Passwords
    password_reader: PasswordReader
    password_rules: PasswordRules
    revocations: Revocations
    cache: Cache
    clock: Clock
    ids: Ids
    lockout: Lockout
    changes: EmailChangeRequests

    async def request_link(self, kind: MailKind, form: EmailForm, language: str = "", *, silent: bool = False) -> None:
        """Add a mail to the outbox, whether or not the address has an account; ``silent`` only validates the form.

        ``language`` is the client's, for an account without a tenant.
        """
        key = email_key(form.email)
        if key is None:
            raise ValidationError.on("email", "is not an e-mail address")
        if silent:
            return
        # Security: look the account up when sending the mail, so that the response time reveals nothing.
        mail = Mail(id=self.ids.new(), kind=kind, recipient=key, at=self.clock.now(), language=language)
        async with self.database.autocommit(EveryTenant()) as tx:
            await tx.outbox.add(mail)

    async def confirm_email(self, form: ConfirmForm, client: Client) -> None:
        """Confirm the address of the link.

        The first proof of an address ends earlier sessions and passkey logins, because they may be another user's.
        Raises ValidationError on ``token``; for a changed address, Conflict on ``email`` as well.
        """
        if await self.changes.finish(form.email, form.token, client):
            return
        async with self.database.read_only(EveryTenant()) as read:
            token = await self._usable_token(read, "confirm", form.email, form.token)
        await self._prove(token, client)
        await self.cache.drop([profile_key(token.user_id)])

    @retry_on_conflict
    async def _prove(self, token: OneTimeToken, client: Client) -> None:
        now, subjects = self.clock.now(), (user_subject(token.user_id),)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(token.user_id)
            before = await tx.users.state(token.user_id)
            await self._confirm(tx, token, client, now)
            is_first = before is not None and not before.user.email_proved
            if is_first:
                published.update(await self._end_sessions(tx, token.user_id, subjects, now))
            if before is not None and is_first:
                # Security: a user who created the account with another person's address must not move it to a new
                # address.
                await tx.email_changes.end(token.user_id)
                await end_passkey_logins(tx, before.user, client, now)
            await record_own(tx, "email.confirmed", token.user_id, None, client, self.clock.now())

    async def reset_password(self, form: ResetForm, client: Client) -> None:
        """Set a new password: end every session, lift the lock and confirm the address, as ``confirm_email`` does.

        Raises ValidationError; an invalid password does not use the token up.
        """
        password = await self.password_reader.read(form.new_password, form.is_password_encrypted, "newPassword")
        async with self.database.read_only(EveryTenant()) as read:
            token = await self._usable_token(read, "reset", form.email, form.token)
            state = await read.users.state(token.user_id)
        if state is None or not state.user.is_active:
            raise wrong_token()
        user = state.user
        await self._ensure_good(password, state)
        await self._reset(token, user, await self.passwords.hash(normal_password(password)), client)
        await self.cache.drop([profile_key(user.id)])

    @retry_on_conflict
    async def _reset(self, token: OneTimeToken, user: User, hashed: str, client: Client) -> None:
        now, subjects = self.clock.now(), (user_subject(user.id),)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            await tx.credentials.set_password(user.id, hashed, now)
            # Lock rows in the order of a login, against deadlocks: account, attempts, sessions.
            await tx.attempts.unlock(user.email_key)
            before = await tx.users.state(user.id)
            # The link came by mail, so a reset proves and confirms the address.
            await self._confirm(tx, token, client, now)
            # Security: a reset lets the owner stop an address change requested by a thief.
            await tx.email_changes.end(user.id)
            # Security: another user may have registered passkeys before the owner proved the address.
            proved_at = before.user.email_proved_at if before else None
            if proved_at is not None or (before is not None and not before.user.email_proved):
                await end_passkey_logins(tx, user, client, now, before=proved_at)
            published.update(await self._end_sessions(tx, user.id, subjects, now))
            if before is not None:
                await record_by_mail(tx, "password.reset", before, client, self.clock.now())
            await tx.outbox.add(own_notice(self.ids.new(), "password-changed", user, client, now))

    async def change_password(self, caller: Caller, form: ChangeForm, client: Client) -> None:
        """Set a new password and end every session of the user.

        Raises ValidationError on ``newPassword`` for the current password.
        """
        encrypted = form.is_password_encrypted
        current = await self.password_reader.read(form.current_password, encrypted, "currentPassword")
        new = await self.password_reader.read(form.new_password, encrypted, "newPassword")
        async with self.database.read_only(EveryTenant()) as read:
            state = await read.users.state(caller.user_id)
        if state is None:
            raise TokenInvalid
        user = state.user
        await self._ensure_good(new, state)
        await self._change(caller, user, await self._hash_after_verification(user, current, new, client), client)

    @retry_on_conflict
    async def _change(self, caller: Caller, user: User, hashed: str, client: Client) -> None:
        now, subjects = self.clock.now(), (user_subject(user.id),)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            # Lock rows in the order of a login, against deadlocks: account, attempts, sessions.
            await tx.credentials.set_password(user.id, hashed, now)
            await tx.attempts.forgive(user.email_key, client.network, now)
            # The token may have been revoked during hashing.
            issued = {subject: caller.issued[subject] for subject in subjects}
            ensure_alive(issued, await tx.token_versions.of(subjects))
            await tx.one_time_tokens.forget(user.id, ["reset"], now)
            await tx.email_changes.end(user.id)
            published.update(await self._end_sessions(tx, user.id, subjects, now))
            await record_own(tx, "password.changed", user.id, caller.tenant_id, client, self.clock.now())
            await tx.outbox.add(own_notice(self.ids.new(), "password-changed", user, client, now))

    async def _hash_after_verification(self, user: User, current: str, new: str, client: Client) -> str:
        async with self.database.autocommit(EveryTenant()) as tx:
            # Security: wrong current passwords count towards the lock, as at login.
            if not await tx.attempts.reserve(user.email_key, client.network, self.lockout, self.clock.now()):
                raise AccountLocked
        try:
            verified = await self.passwords.verify(current, user.password_hash)
            # Security: compare only after verification, so that a wrong guess counts.
            is_same = verified and normal_password(new) == normal_password(current)
            hashed = await self.passwords.hash(normal_password(new)) if verified and not is_same else None
        except TooBusy:
            # Nothing was checked, so the attempt does not count.
            await self._release(user, client)
            raise
        if is_same:
            # The current password was right, so the attempt does not count.
            await self._release(user, client)
            raise ValidationError.on("newPassword", "is your current password: choose another")
        if hashed is None:
            async with self.database.transaction(EveryTenant()) as tx:
                await record_own(tx, "password.change-refused", user.id, None, client, self.clock.now())
            raise ValidationError.on("currentPassword", "is not your current password")
        return hashed

    async def _release(self, user: User, client: Client) -> None:
        async with self.database.autocommit(EveryTenant()) as tx:
            await tx.attempts.release(user.email_key, client.network)

    async def _usable_token(self, tx: AccountTransaction, purpose: Purpose, email: str, secret: str) -> OneTimeToken:
        # Security: look up only by the secret, so that response and time reveal nothing about the address.
        token = await tx.one_time_tokens.living(purpose, token_hash(secret), self.clock.now())
        if token is None or token.email_key != email_key(email):
            raise wrong_token()
        return token

    async def _confirm(self, tx: AccountTransaction, token: OneTimeToken, client: Client, now: datetime) -> None:
        linked = await tx.social.of_user(token.user_id)
        # Lock rows in the order of an address change, the account before its tokens, against deadlocks.
        has_address = await tx.credentials.confirm_email(token.user_id, token.email_key, now)
        if not has_address or not await tx.one_time_tokens.consume(token.purpose, token.hash, now):
            raise wrong_token()
        # Security: holders of other valid links of this kind must not use them later.
        await tx.one_time_tokens.forget(token.user_id, ["confirm", token.purpose], now)
        # Security: the proof unlinks earlier identities, possibly linked by another user. Notify the owner.
        if linked and not await tx.social.of_user(token.user_id):
            state = await tx.users.state(token.user_id)
            assert state is not None
            await tx.outbox.add(own_notice(self.ids.new(), "identities-unlinked", state.user, client, now))

    async def _end_sessions(
        self, tx: AccountTransaction, user_id: UUID, subjects: Sequence[str], now: datetime
    ) -> Mapping[str, int]:
        versions = await tx.token_versions.bump(subjects)
        await tx.users.end_sessions(user_id, now)
        return versions

    async def _ensure_good(self, password: str, state: AccountState) -> None:
        user, tenants = state.user, names_of(state.memberships)
        await self.password_rules.ensure_good(
            password, email=user.email, full_name=user.full_name, field="newPassword", tenants=tenants
        )


async def end_passkey_logins(
    tx: AccountTransaction, user: User, client: Client, now: datetime, *, before: datetime | None = None
) -> None:
    """End logins with only a passkey, for passkeys registered ``before`` that time, or for all: another user may have
    registered them before the proof of the address.

    A proof of the address never removes a second factor, because access to the mailbox would then be enough. The caller
    MUST have locked the user's row.
    """
    if await tx.credentials.end_passkey_logins(user.id, before):
        await tx.audit.add(SYSTEM_TENANT_ID, event("factor.unproved", user.id, user.id, client, now))


def wrong_token() -> ValidationError:
    """Return the one error for a wrong, used, expired or replaced token."""
    return ValidationError.on("token", "is wrong, was used, or has expired: ask for a new mail")
