"""Accounts, and all that is read about one in a single statement."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from msgspec.structs import astuple

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.failures import taken
from adapters.postgres.identity import account_states
from adapters.postgres.identity.user_pages import COLUMNS, UserPageStatement
from application.ports.identity.listing import Listing
from application.ports.identity.users import ListedUser
from domain.identity.users import AccountState, User

TAKEN: Mapping[str, tuple[str, str]] = {"uq_users_email": ("email", "There is an account with this address already.")}

_ADD = f"""
INSERT INTO users ({", ".join(COLUMNS)}) VALUES ({", ".join(f"${n + 1}" for n in range(len(COLUMNS)))})"""
_END_TOKENS = """
UPDATE one_time_tokens SET used_at = $3 WHERE user_id = $1 AND email_key <> $2 AND used_at IS NULL"""
_END_SESSIONS = "UPDATE sessions SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL"


@dataclass(frozen=True, slots=True)
class PostgresUsers:
    connection: ServiceConnection

    async def state(self, user_id: UUID) -> AccountState | None:
        return await self._standing(account_states.BY_ID, user_id)

    async def state_by_email(self, email_key: str) -> AccountState | None:
        return await self._standing(account_states.BY_EMAIL, email_key)

    async def add(self, user: User) -> None:
        with taken(TAKEN):
            await self.connection.execute(_ADD, *astuple(user))

    async def save(self, user: User, before: User) -> None:
        written = [name for name in COLUMNS if getattr(before, name) != getattr(user, name)]
        if not written:
            return
        values = (getattr(user, name) for name in written)
        with taken(TAKEN):
            await self.connection.execute(_save(tuple(written)), user.id, *values)
        await self.connection.execute(_END_TOKENS, user.id, user.email_key, user.updated_at)

    async def remove(self, user_id: UUID) -> None:
        """The keys of memberships, roles and sessions take theirs with it."""
        await self.connection.execute("DELETE FROM users WHERE id = $1", user_id)

    async def page(self, listing: Listing) -> tuple[list[ListedUser], int]:
        return await UserPageStatement(self.connection, listing).read()

    async def end_sessions(self, user_id: UUID, at: datetime) -> None:
        await self.connection.execute(_END_SESSIONS, user_id, at)

    async def _standing(self, statement: str, key: UUID | str) -> AccountState | None:
        state = await self.connection.fetchval(statement, key)
        return None if state is None else account_states.decode(state)


@lru_cache(64)
def _save(names: tuple[str, ...]) -> str:
    return f"UPDATE users SET {', '.join(f'{name} = ${n + 2}' for n, name in enumerate(names))} WHERE id = $1"
