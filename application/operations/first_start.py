"""First start: creates the tenant ``system``, the built-in roles and a super-admin."""

import secrets
from dataclasses import dataclass
from uuid import UUID

from application.identity.administration.user_forms import checked_email
from application.identity.passwords.password_rules import PasswordRules
from application.ports.database import Database
from application.ports.runtime import Clock, Ids, Passwords
from application.ports.whole_database import Transaction
from domain.errors import Conflict
from domain.identity.identifiers import SYSTEM_IDENTIFIER
from domain.identity.users import SHIPPED_ROLES, SUPER_ADMIN, Role, Tenant, User, normal_password, shipped_role_id
from domain.scope import SYSTEM_TENANT_ID, EveryTenant


@dataclass(frozen=True)
class FirstStart:
    database: Database[Transaction]
    passwords: Passwords
    password_rules: PasswordRules
    clock: Clock
    ids: Ids

    async def prepare(self, email: str, password: str | None) -> str | None:
        """Create missing data; return the super-admin's password if generated, else None.

        A super-admin is created only if none exists, by one of concurrently starting processes.
        """
        async with self.database.transaction(EveryTenant()) as tx:
            has_admin = bool(await tx.roles.lock_super_admins())
            await self._ensure_system(tx)
        if has_admin:
            return None
        chosen = password or secrets.token_urlsafe(15)
        admin = await self._new_admin(email, chosen)
        try:
            async with self.database.transaction(EveryTenant()) as tx:
                # Another process may have created a super-admin while this one hashed the password.
                if await tx.roles.lock_super_admins():
                    return None
                await self._add_admin(tx, admin)
        except Conflict:
            # The address already has an account, so do not create a super-admin.
            return None
        return None if password else chosen

    async def ensure_system(self) -> None:
        """Create the tenant ``system`` and the built-in roles in a migrated database without them.

        Reads first, without locks, because they nearly always exist.
        """
        async with self.database.read_only(EveryTenant()) as read:
            if await read.tenants.by_id(SYSTEM_TENANT_ID) is not None and not await self._missing_roles(read):
                return
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.roles.lock_super_admins()  # all code that creates the tenant and roles acquires this lock
            await self._ensure_system(tx)

    async def create_admin(self, email: str, password: str) -> UUID:
        """Create a super-admin.

        Raises Conflict if the address has an account, ValidationError for an invalid address or password.
        """
        admin = await self._new_admin(email, password)
        async with self.database.transaction(EveryTenant()) as tx:
            # All creators of the system's tenant and roles use this lock: replicas may start on an empty database
            # concurrently.
            await tx.roles.lock_super_admins()
            await self._ensure_system(tx)
            await self._add_admin(tx, admin)
        return admin.id

    async def _new_admin(self, email: str, password: str) -> User:
        key = checked_email(email)
        await self.password_rules.ensure_good(password, email=email, full_name="", field="password", tenants=())
        hashed, now = await self.passwords.hash(normal_password(password)), self.clock.now()
        return User(
            id=self.ids.new(),
            email=email.strip(),
            email_key=key,
            full_name="Administrator",
            password_hash=hashed,
            email_confirmed=True,
            password_set_at=now,
            created_at=now,
            updated_at=now,
        )

    async def _add_admin(self, tx: Transaction, admin: User) -> None:
        await tx.users.add(admin)
        await tx.memberships.save(admin.id, SYSTEM_TENANT_ID, [], None, admin.created_at)
        await tx.memberships.set_system_roles(admin.id, [shipped_role_id(SUPER_ADMIN)])

    async def _ensure_system(self, tx: Transaction) -> None:
        if await tx.tenants.by_id(SYSTEM_TENANT_ID) is None:
            await tx.tenants.add(
                Tenant(
                    id=SYSTEM_TENANT_ID,
                    name="System",
                    identifier=SYSTEM_IDENTIFIER,
                    created_at=self.clock.now(),
                )
            )
        for name in await self._missing_roles(tx):
            role_id, permissions = shipped_role_id(name), SHIPPED_ROLES[name]
            await tx.roles.add(Role(id=role_id, tenant_id=None, name=name, permissions=permissions))

    async def _missing_roles(self, tx: Transaction) -> list[str]:
        stored = {listed.role.id for listed in await tx.roles.visible(SYSTEM_TENANT_ID)}
        return [name for name in SHIPPED_ROLES if shipped_role_id(name) not in stored]
