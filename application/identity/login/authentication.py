"""Authentication by e-mail and password. Responses and their times do not reveal existing accounts."""

from dataclasses import dataclass

from msgspec import UnsetType

from application.identity.login.forms import LoginForm
from application.identity.passwords.encrypted_passwords import PasswordReader
from application.ports.database import Database
from application.ports.identity.users import IdentityTransaction
from application.ports.runtime import Clock, Passwords
from application.retry import retry_on_conflict
from domain.errors import AccountLocked, InvalidCredentials, TooBusy, ValidationError
from domain.identity.logins import Login, RenewedHash
from domain.identity.users import AccountState, User, attempts_key, email_key, normal_password
from domain.lockout import Lockout
from domain.scope import SYSTEM_TENANT_ID, Client, EveryTenant, event


@dataclass(frozen=True)
class PasswordAuthentication:
    database: Database[IdentityTransaction]
    passwords: Passwords
    password_reader: PasswordReader
    clock: Clock
    lockout: Lockout

    async def by_password(self, form: LoginForm, client: Client) -> Login:
        """Verify the password. Raises AccountLocked, InvalidCredentials or TooBusy."""
        password = await self.password_reader.read(form.password, form.is_password_encrypted, "password")
        key, counted = email_key(form.email), attempts_key(form.email)
        async with self.database.autocommit(EveryTenant()) as tx:
            # Security: count before hashing, so that parallel guesses cannot bypass the lock.
            is_open = await tx.attempts.reserve(counted, client.network, self.lockout, self.clock.now())
            state = await tx.users.state_by_email(key) if is_open and key else None
        if not is_open:
            # Security: do not look the account up here, because the response time would reveal whether it exists.
            await self._note_failure(None, client)
            raise AccountLocked
        stored = state.user.password_hash if state else None
        try:
            verified = await self.passwords.verify(password, stored)
        except TooBusy:
            async with self.database.autocommit(EveryTenant()) as tx:
                # Nothing was checked, so the attempt does not count.
                await tx.attempts.release(counted, client.network)
            raise
        if state is None or stored is None or not verified:
            await self._note_failure(state, client)
            raise InvalidCredentials
        return Login(
            state=state,
            methods=("pwd",),
            by_password=True,
            renewed=await self._renewed(password, stored),
            preferred=form.preferred_tenant_id,
            app_id=form.requested_app_id,
        )

    async def ensure_own(self, user: User, password: str, is_encrypted: bool | UnsetType, client: Client) -> None:
        """Verify a logged-in user's password. Raises AccountLocked, TooBusy or ValidationError."""
        password = await self.password_reader.read(password, is_encrypted, "password")
        async with self.database.autocommit(EveryTenant()) as tx:
            if not await tx.attempts.reserve(user.email_key, client.network, self.lockout, self.clock.now()):
                raise AccountLocked
        try:
            verified = await self.passwords.verify(password, user.password_hash)
        except TooBusy:
            async with self.database.autocommit(EveryTenant()) as tx:
                await tx.attempts.release(user.email_key, client.network)
            raise
        if not verified:
            async with self.database.autocommit(EveryTenant()) as tx:
                line = event("reauthentication.refused", user.id, user.id, client, self.clock.now())
                await tx.audit.add(SYSTEM_TENANT_ID, line)
            raise ValidationError.on("password", "is not your password; an account without one logs in again instead")

    async def _renewed(self, password: str, stored: str) -> RenewedHash | None:
        if not self.passwords.is_outdated(stored):
            return None
        # The service knows the password only now, so it replaces a weak or imported hash. If the queue is full, a later
        # login does it.
        try:
            return RenewedHash(stored, await self.passwords.hash(normal_password(password)))
        except TooBusy:
            return None

    @retry_on_conflict
    async def _note_failure(self, state: AccountState | None, client: Client) -> None:
        user_id = state.user.id if state else None
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.audit.add(SYSTEM_TENANT_ID, event("login.failed", user_id, user_id, client, self.clock.now()))
