"""Sessions: one row each, whatever their age."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from adapters.postgres import standings
from adapters.postgres.connections import ServiceConnection
from domain.identity import Standing
from domain.sessions import Lifetimes, Session

COLUMNS = Session.__struct_fields__
_LISTED = ", ".join(COLUMNS)
_ADD = f"INSERT INTO sessions ({_LISTED}) VALUES ({', '.join(f'${n + 1}' for n in range(len(COLUMNS)))})"
_ROTATE = """
UPDATE sessions SET counter = $3, tenant_id = $4, rotated_at = $5
WHERE id = $1 AND counter = $2 AND ended_at IS NULL RETURNING true"""
_END = "UPDATE sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL RETURNING true"
_WITH_STANDING = f"SELECT {_LISTED}, {standings.OF_SESSION} AS standing FROM sessions WHERE id = $1"
_LIVING = f"""
SELECT {_LISTED} FROM sessions
WHERE user_id = $1 AND ended_at IS NULL AND rotated_at > $2 AND created_at > $3
AND (tenant_id IS NOT NULL OR created_at > $4) ORDER BY rotated_at DESC, id DESC"""


@dataclass(frozen=True, slots=True)
class PostgresSessions:
    connection: ServiceConnection

    async def by_id(self, session_id: UUID) -> Session | None:
        row = await self.connection.fetchrow(f"SELECT {_LISTED} FROM sessions WHERE id = $1", session_id)
        return None if row is None else Session(**row)

    async def with_standing(self, session_id: UUID) -> tuple[Session, Standing] | None:
        row = await self.connection.fetchrow(_WITH_STANDING, session_id)
        if row is None:
            return None
        *columns, standing = row.values()
        return Session(**dict(zip(COLUMNS, columns, strict=True))), standings.decode(standing)

    async def add(self, session: Session) -> None:
        await self.connection.execute(_ADD, *msgspec.structs.astuple(session))

    async def rotate(self, session: Session, seen: int) -> bool:
        return bool(
            await self.connection.fetchval(
                _ROTATE, session.id, seen, session.counter, session.tenant_id, session.rotated_at
            )
        )

    async def end(self, session_id: UUID, at: datetime) -> bool:
        return bool(await self.connection.fetchval(_END, session_id, at))

    async def living(self, user_id: UUID, now: datetime, lifetimes: Lifetimes) -> list[Session]:
        """What domain/sessions.py calls expired."""
        since = (now - lifetimes.unused, now - lifetimes.session, now - lifetimes.selection)
        return [Session(**row) for row in await self.connection.fetch(_LIVING, user_id, *since)]
