"""Token versions of subjects: the authoritative copy, followed by the one in Redis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from adapters.postgres.connection.connections import ServiceConnection

_OF = "SELECT subject, count FROM revocation_counts WHERE subject = ANY ($1)"
# raised_at retains the oldest unpublished bump, the start of the lag.
_BUMP = """
INSERT INTO revocation_counts AS c (subject, count, raised_at, ended_at)
SELECT subject, 1, clock_timestamp(), $2 FROM unnest($1::text[]) subject
ON CONFLICT (subject) DO UPDATE SET count = c.count + 1, raised_at = coalesce(c.raised_at, clock_timestamp()),
    ended_at = coalesce($2, c.ended_at)
RETURNING subject, count"""
_END = "UPDATE revocation_counts SET ended_at = $2 WHERE subject = ANY ($1)"


@dataclass(frozen=True, slots=True)
class PostgresTokenVersions:
    connection: ServiceConnection

    async def of(self, subjects: Sequence[str]) -> dict[str, int]:
        rows = await self.connection.fetch(_OF, list(subjects))
        return {**dict.fromkeys(subjects, 0), **{row["subject"]: row["count"] for row in rows}}

    async def bump(self, subjects: Sequence[str], ended_at: datetime | None = None) -> Mapping[str, int]:
        # Sorted, so that two bumps lock their rows in the same order and cannot deadlock.
        rows = await self.connection.fetch(_BUMP, sorted(set(subjects)), ended_at)
        return {row["subject"]: row["count"] for row in rows}

    async def end(self, subjects: Sequence[str], at: datetime) -> None:
        await self.connection.execute(_END, list(subjects), at)
