"""Mails to be sent: rows of the transactions that caused them, each taken by one relay at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from adapters.postgres.connections import ServiceConnection
from application.ports.post import Due
from application.ports.world import Mail

COLUMNS = Mail.__struct_fields__
_LISTED = ", ".join(COLUMNS)
_ADD = f"""
INSERT INTO outbox ({_LISTED}, due_at)
VALUES ({", ".join(f"${n + 1}" for n in range(len(COLUMNS)))}, ${COLUMNS.index("at") + 1})"""
_TAKE = f"""
WITH due AS (
    SELECT id FROM outbox WHERE given_up_at IS NULL AND due_at <= $2
    ORDER BY due_at, number LIMIT $1 FOR UPDATE SKIP LOCKED),
taken AS (
    UPDATE outbox SET due_at = $2 + $3::interval, tries = tries + 1 WHERE id IN (SELECT id FROM due)
    RETURNING {_LISTED}, number, tries)
SELECT * FROM taken ORDER BY number"""
_DONE = "DELETE FROM outbox WHERE id = $1"
_PUT_OFF = "UPDATE outbox SET due_at = $2 WHERE id = $1"
_GIVE_UP = "UPDATE outbox SET given_up_at = $2 WHERE id = $1"


@dataclass(frozen=True, slots=True)
class PostgresOutbox:
    connection: ServiceConnection

    async def add(self, mail: Mail) -> None:
        await self.connection.execute(_ADD, *msgspec.structs.astuple(mail))

    async def take(self, most: int, now: datetime, held: timedelta) -> Sequence[Due]:
        rows = await self.connection.fetch(_TAKE, most, now, held)
        return [
            Due(mail=Mail(**{name: row[name] for name in COLUMNS}), number=row["number"], tries=row["tries"])
            for row in rows
        ]

    async def done(self, mail_id: UUID) -> None:
        await self.connection.execute(_DONE, mail_id)

    async def put_off(self, mail_id: UUID, until: datetime) -> None:
        await self.connection.execute(_PUT_OFF, mail_id, until)

    async def give_up(self, mail_id: UUID, at: datetime) -> None:
        await self.connection.execute(_GIVE_UP, mail_id, at)
