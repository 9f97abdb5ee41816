"""Registration of accounts by their owners."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from application.audit import record_own
from application.identity.passwords.encrypted_passwords import PasswordReader
from application.identity.passwords.password_rules import PasswordRules
from application.ports.database import Database, Mail
from application.ports.identity.tenants import TenantTransaction
from application.ports.runtime import Clock, Ids, Passwords
from domain.errors import Forbidden, NotFound, ValidationError
from domain.identity.users import (
    MEMBER,
    AccountEmail,
    FullName,
    NewPassword,
    PhoneNumber,
    User,
    email_key,
    new_account_errors,
    normal_password,
)
from domain.scope import Client, EveryTenant


class RegisterForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: AccountEmail
    password: NewPassword
    full_name: FullName
    phone_number: PhoneNumber | None = None
    is_password_encrypted: bool | UnsetType = UNSET


class Registered(Struct, rename="camel", kw_only=True):
    id: UUID
    email: str
    full_name: str
    created_at: datetime


class RegistrationPolicy(Struct, frozen=True, kw_only=True):
    """Registration settings; ``default_tenant`` is the identifier of the tenant that new users join, None for none.

    With ``is_open`` False, only administrators and invitations create accounts.
    """

    default_tenant: str | None
    confirm_email: bool
    is_open: bool = True


@dataclass(frozen=True)
class Registration:
    database: Database[TenantTransaction]
    passwords: Passwords
    password_reader: PasswordReader
    password_rules: PasswordRules
    clock: Clock
    ids: Ids
    policy: RegistrationPolicy

    async def register(self, form: RegisterForm, client: Client) -> Registered:
        """Create an account. Raises Conflict on ``email`` if an account with the address exists."""
        if not self.policy.is_open:
            raise Forbidden("Accounts are made by invitation here: ask an administrator for one.")
        password = await self.password_reader.read(form.password, form.is_password_encrypted, "password")
        # Security: use the words of the default tenant only. The words of an existing account's tenants would reveal
        # that the account exists.
        tenants = [self.policy.default_tenant] if self.policy.default_tenant else []
        wrong = await self.password_rules.errors(
            password, email=form.email, full_name=form.full_name, field="password", tenants=tenants
        )
        if errors := [*new_account_errors(form.email, form.full_name, form.phone_number), *wrong]:
            raise ValidationError(fields=errors)
        hashed = await self.passwords.hash(normal_password(password))
        user = self._new_user(form, hashed)
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.users.add(user)
            tenant_id = await self._join(tx, user)
            if self.policy.confirm_email:
                await tx.outbox.add(self._confirmation(user, client))
            await record_own(tx, "user.registered", user.id, tenant_id, client, user.created_at)
        return Registered(id=user.id, email=user.email, full_name=user.full_name, created_at=user.created_at)

    def _confirmation(self, user: User, client: Client) -> Mail:
        return Mail(
            id=self.ids.new(),
            kind="confirmation",
            recipient=user.email_key,
            at=user.created_at,
            language=client.language,
        )

    async def _join(self, tx: TenantTransaction, user: User) -> UUID | None:
        identifier = self.policy.default_tenant
        tenant = await tx.tenants.by_identifier(identifier) if identifier else None
        # A missing, closed or concurrently deleted default tenant must not prevent a registration.
        if tenant is None or not tenant.is_active:
            return None
        roles = await tx.roles.by_names(None, [MEMBER])
        try:
            await tx.memberships.save(user.id, tenant.id, [role.id for role in roles], None, user.created_at)
        except NotFound:
            return None
        return tenant.id

    join = _join
    """For accounts created by social logins."""

    def _new_user(self, form: RegisterForm, hashed: str) -> User:
        now = self.clock.now()
        key = email_key(form.email)
        assert key is not None
        return User(
            id=self.ids.new(),
            email=form.email.strip(),
            email_key=key,
            full_name=form.full_name,
            phone_number=form.phone_number,
            password_hash=hashed,
            password_set_at=now,
            created_at=now,
            updated_at=now,
        )
