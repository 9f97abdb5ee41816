"""The outbox: mails written in the transaction that causes them, and claimed by the first free process."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
from msgspec.structs import astuple

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.database import AWAITED, Due, GivenUp, Mail
from application.ports.mail_delivery import MailBacklog

COLUMNS = Mail.__struct_fields__

_ADD = """
INSERT INTO outbox (id, kind, recipient, name, address, at, due_at, about, language)
VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8)"""
# SKIP LOCKED leaves a mail to the process that claimed it. NO KEY UPDATE suffices: `id` does not change.
_TAKE = """
WITH due AS (
    SELECT id FROM outbox WHERE given_up_at IS NULL AND due_at <= $2
    ORDER BY kind <> ALL ($4), due_at, number LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED),
taken AS (
    UPDATE outbox o SET due_at = $3, tries = o.tries + 1 FROM due WHERE o.id = due.id
    RETURNING o.id, o.kind, o.recipient, o.name, o.address, o.at, o.about, o.language, o.number, o.tries,
        coalesce(o.tried_again_at, o.at) AS since)
SELECT id, kind, recipient, name, address, at, about, language, number, tries, since FROM taken ORDER BY number"""
_DONE = "DELETE FROM outbox WHERE id = $1"
_PUT_OFF = "UPDATE outbox SET due_at = $2 WHERE id = $1"
_GIVE_UP = "UPDATE outbox SET given_up_at = $2, why = $3 WHERE id = $1"
_GIVEN_UP = """
SELECT id, kind, recipient, name, address, at, about, language, tries, given_up_at, why FROM outbox
WHERE given_up_at IS NOT NULL ORDER BY given_up_at DESC, number DESC LIMIT $1"""
_TRY_AGAIN = """
UPDATE outbox SET given_up_at = NULL, why = '', tries = 0, due_at = $2, tried_again_at = $2
WHERE id = $1 AND given_up_at IS NOT NULL RETURNING true"""
_DROP = "DELETE FROM outbox WHERE id = $1 AND given_up_at IS NOT NULL RETURNING true"

_BACKLOG = """
SELECT count(*) FILTER (WHERE given_up_at IS NULL) AS waiting,
    min(coalesce(tried_again_at, at)) FILTER (WHERE given_up_at IS NULL) AS oldest,
    count(*) FILTER (WHERE given_up_at IS NOT NULL) AS given_up
FROM outbox"""


@dataclass(frozen=True, slots=True)
class PostgresOutbox:
    connection: ServiceConnection

    async def add(self, mail: Mail) -> None:
        await self.connection.execute(_ADD, *astuple(mail))

    async def take(self, most: int, now: datetime, held: timedelta) -> Sequence[Due]:
        rows = await self.connection.fetch(_TAKE, most, now, now + held, sorted(AWAITED))
        return [Due(mail=_mail(row), number=row["number"], tries=row["tries"], since=row["since"]) for row in rows]

    async def done(self, mail_id: UUID) -> None:
        await self.connection.execute(_DONE, mail_id)

    async def put_off(self, mail_id: UUID, until: datetime) -> None:
        await self.connection.execute(_PUT_OFF, mail_id, until)

    async def give_up(self, mail_id: UUID, at: datetime, why: str) -> None:
        await self.connection.execute(_GIVE_UP, mail_id, at, why)

    async def given_up(self, most: int) -> Sequence[GivenUp]:
        rows = await self.connection.fetch(_GIVEN_UP, most)
        return [GivenUp(mail=_mail(row), tries=row["tries"], at=row["given_up_at"], why=row["why"]) for row in rows]

    async def try_again(self, mail_id: UUID, now: datetime) -> bool:
        return bool(await self.connection.fetchval(_TRY_AGAIN, mail_id, now))

    async def drop(self, mail_id: UUID) -> bool:
        return bool(await self.connection.fetchval(_DROP, mail_id))


@dataclass(frozen=True, slots=True)
class PostgresOutboxState:
    connection: ServiceConnection

    async def backlog(self) -> MailBacklog:
        row = await self.connection.fetchrow(_BACKLOG)
        assert row is not None
        return MailBacklog(waiting=row["waiting"], oldest=row["oldest"], given_up=row["given_up"])


def _mail(row: asyncpg.Record) -> Mail:
    return Mail(**{name: row[name] for name in COLUMNS})
