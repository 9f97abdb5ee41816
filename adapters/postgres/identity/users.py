"""Accounts of users."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

import sqlalchemy as sa
from msgspec.structs import astuple

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.failures import taken
from adapters.postgres.identity.account_states import ACCOUNT_STATE, decode_state
from adapters.postgres.identity.listings import SHAPES, TABLES
from adapters.postgres.identity.user_pages import COLUMNS, UserPageStatement
from adapters.postgres.statements.compiled import CompiledStatement, compiled, parameter
from application.ports.identity.users import HeldRole, ListedUser, Listing
from domain.identity.users import AccountState, User

TAKEN: Mapping[str, tuple[str, str]] = {"uq_users_email": ("email", "There is an account with this address already.")}

_ADD = """
INSERT INTO users (
    id, email, email_key, full_name, phone_number, profile_picture_url, password_hash, email_confirmed, email_proved,
    is_active, must_change_password, password_set_at, created_at, updated_at, last_login_at, email_proved_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"""
_END_TOKENS = """
UPDATE one_time_tokens SET used_at = $3 WHERE user_id = $1 AND email_key <> $2 AND used_at IS NULL"""
_END_CHANGE = "DELETE FROM email_changes WHERE user_id = $1"
_UNLINK_ALL = "DELETE FROM social_identities WHERE user_id = $1"
# Use memberships: the primary key of membership_roles begins with the tenant. OFFSET 0 prevents a lookup by only the
# tenant, which reads the roles of all members.
ROLES_IN_TENANTS = """
SELECT m.user_id, t.identifier AS tenant, r.name AS role
FROM memberships m CROSS JOIN LATERAL (
    SELECT role_id FROM membership_roles h WHERE h.tenant_id = m.tenant_id AND h.user_id = m.user_id OFFSET 0) h
JOIN tenants t ON t.id = m.tenant_id JOIN roles r ON r.id = h.role_id
WHERE m.user_id = ANY ($1) AND t.deleted_at IS NULL ORDER BY t.identifier, r.name, m.user_id"""
_END_SESSIONS = "UPDATE sessions SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL"
# Foreign keys delete the user's memberships, roles, sessions and links.
_REMOVE = "DELETE FROM users WHERE id = $1"


@dataclass(frozen=True, slots=True)
class PostgresUsers:
    connection: ServiceConnection

    async def state(self, user_id: UUID) -> AccountState | None:
        return await self._state(user_id, None)

    async def state_by_email(self, email_key: str) -> AccountState | None:
        return await self._state(None, email_key)

    async def add(self, user: User) -> None:
        with taken(TAKEN):
            await self.connection.execute(_ADD, *astuple(user))

    async def save(self, user: User, before: User) -> None:
        changed = tuple(name for name in COLUMNS if getattr(before, name) != getattr(user, name))
        if not changed:
            return
        statement = _update(changed)
        values = {"user": user.id, **{f"new_{name}": getattr(user, name) for name in changed}}
        with taken(TAKEN):
            await self.connection.execute(statement.text, *statement.arguments(values))
        # Security: tokens and links for the former address must not give access to the account.
        await self.connection.execute(_END_TOKENS, user.id, user.email_key, user.updated_at)
        if user.email_key != before.email_key:
            await self.connection.execute(_UNLINK_ALL, user.id)
            await self.connection.execute(_END_CHANGE, user.id)

    async def remove(self, user_id: UUID) -> None:
        await self.connection.execute(_REMOVE, user_id)

    async def page(self, listing: Listing) -> tuple[list[ListedUser], int]:
        return await UserPageStatement(self.connection, listing).read()

    async def roles_in_tenants(self, user_ids: Sequence[UUID]) -> list[HeldRole]:
        return [HeldRole(**row) for row in await self.connection.fetch(ROLES_IN_TENANTS, list(user_ids))]

    async def end_sessions(self, user_id: UUID, at: datetime) -> None:
        await self.connection.execute(_END_SESSIONS, user_id, at)

    async def _state(self, user_id: UUID | None, email_key: str | None) -> AccountState | None:
        text = await self.connection.fetchval(ACCOUNT_STATE, user_id, email_key, None)
        return None if text is None else decode_state(text)


@lru_cache(SHAPES)
def _update(names: tuple[str, ...]) -> CompiledStatement:
    """Return the update of only the changed columns, so that concurrent changes to other columns survive."""
    users = TABLES["users"]
    # `new_`: Core reserves parameter names equal to a column of the updated table.
    values = {name: parameter(f"new_{name}", users.c[name].type) for name in names}
    return compiled(sa.update(users).where(users.c.id == parameter("user", sa.Uuid())).values(values))
