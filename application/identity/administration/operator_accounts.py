"""Account operations of the service operator from the command line, which need no account."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from application.identity.passwords.password_rules import PasswordRules, names_of
from application.ports.database import Database
from application.ports.identity.accounts import AccountTransaction
from application.ports.runtime import Clock, Passwords
from application.ports.shared_memory import Cache, Revocations, profile_key
from application.retry import retry_on_conflict
from domain.errors import NotFound
from domain.identity.users import AccountState, User, email_key, normal_password
from domain.scope import SYSTEM_TENANT_ID, Client, EveryTenant, event, user_subject


@dataclass(frozen=True)
class OperatorAccounts:
    database: Database[AccountTransaction]
    revocations: Revocations
    passwords: Passwords
    password_rules: PasswordRules
    cache: Cache
    clock: Clock

    async def find(self, email: str) -> User:
        """Return the account. Raises NotFound for an address without one."""
        return (await self._state(email)).user

    async def _state(self, email: str) -> AccountState:
        key = email_key(email)
        async with self.database.read_only(EveryTenant()) as read:
            state = None if key is None else await read.users.state_by_email(key)
        if state is None:
            raise NotFound(f"There is no account with the address {email}.")
        return state

    async def roles_in_tenants(self, user_ids: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
        """Return the users' roles in tenants, such as ``acme:Admin``."""
        async with self.database.read_only(EveryTenant()) as read:
            held = await read.users.roles_in_tenants(user_ids)
        found: dict[UUID, tuple[str, ...]] = {}
        for each in held:
            found[each.user_id] = (*found.get(each.user_id, ()), f"{each.tenant}:{each.role}")
        return found

    async def set_password(self, email: str, password: str, client: Client) -> None:
        """Set a password, end every session and lift the lock. Raises NotFound, ValidationError."""
        state = await self._state(email)
        user, tenants = state.user, names_of(state.memberships)
        # Check before hashing, which costs a tenth of a second of a core.
        await self.password_rules.ensure_good(
            password, email=user.email, full_name=user.full_name, field="newPassword", tenants=tenants
        )
        await self._set(user, await self.passwords.hash(normal_password(password)), client)
        await self.cache.drop([profile_key(user.id)])

    @retry_on_conflict
    async def _set(self, user: User, hashed: str, client: Client) -> None:
        now, subject = self.clock.now(), user_subject(user.id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            # Lock rows in the order of a login, against deadlocks: account, attempts, sessions.
            await tx.credentials.set_password(user.id, hashed, now)
            await tx.attempts.unlock(user.email_key)
            # Security: an earlier mailed link could set another password.
            await tx.one_time_tokens.forget(user.id, ["reset"], now)
            published.update(await tx.token_versions.bump([subject]))
            await tx.users.end_sessions(user.id, now)
            await tx.audit.add(SYSTEM_TENANT_ID, event("password.set-by-operator", None, user.id, client, now))
