"""Token versions possibly not yet published to the shared copy, marked by ``raised_at`` on their rows."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta

import asyncpg

from adapters.postgres.connection.connecting import connect
from adapters.postgres.connection.failures import AWAY, translated
from adapters.postgres.connection.poolers import Route
from adapters.postgres.schema.row_security import ROLE
from domain.errors import ServiceUnavailable

PATIENCE = 1.0
"""Seconds for a statement: by then the lease that asks has ended and cannot use an answer."""

_DUE = """
SELECT subject, count FROM revocation_counts WHERE raised_at < clock_timestamp() - $1::interval
ORDER BY raised_at LIMIT $2"""
# `c.count <= k.count`: a version bumped again concurrently stays pending.
_PUBLISHED = """
WITH known AS (
    SELECT c.subject FROM revocation_counts c
    JOIN unnest($1::text[], $2::bigint[]) AS k (subject, count) ON k.subject = c.subject AND c.count <= k.count
    WHERE c.raised_at IS NOT NULL ORDER BY c.subject FOR NO KEY UPDATE OF c SKIP LOCKED)
UPDATE revocation_counts SET raised_at = NULL FROM known WHERE revocation_counts.subject = known.subject"""


@contextmanager
def _told_elsewhere() -> Iterator[None]:
    """Translate errors of an unmigrated database or missing rights, reported elsewhere."""
    try:
        yield
    except (asyncpg.UndefinedTableError, asyncpg.InsufficientPrivilegeError) as refusal:
        raise ServiceUnavailable from refusal


class PostgresPendingVersions:
    """Pending versions on a separate connection, so that a full pool does not delay the publishing of revocations."""

    def __init__(self, url: str, pooler: Route = "none") -> None:
        self._url, self._pooler = url, pooler
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._connecting: asyncio.Task[asyncpg.Connection[asyncpg.Record]] | None = None
        self._in_use = asyncio.Lock()

    async def due(self, age: float, most: int) -> dict[str, int]:
        with translated(self._connection):
            async with self._in_use:
                with _told_elsewhere():
                    rows = await (await self._open()).fetch(_DUE, timedelta(seconds=age), most)
        return {row["subject"]: row["count"] for row in rows}

    async def published(self, versions: Mapping[str, int]) -> None:
        with translated(self._connection):
            async with self._in_use:
                with _told_elsewhere():
                    await (await self._open()).execute(_PUBLISHED, list(versions), list(versions.values()))

    async def close(self) -> None:
        if self._connecting is not None:
            with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, *AWAY):
                self._connection = await self._connecting
        if self._connection is not None:
            self._connection.terminate()

    async def _open(self) -> "asyncpg.Connection[asyncpg.Record]":
        # A cancelled statement may leave a closed connection.
        if self._connection is None or self._connection.is_closed():
            self._connecting = self._connecting or asyncio.create_task(self._connected())
            # If connecting is cancelled, asyncpg leaves an unread error and asyncio prints it.
            try:
                await asyncio.shield(self._connecting)
            except asyncpg.PostgresError as refusal:
                # Do not report a wrong role or password here, because request handlers and commands report it.
                raise ServiceUnavailable from refusal
            finally:
                self._take_what_was_made(self._connecting)
        assert self._connection is not None
        return self._connection

    def _take_what_was_made(self, connecting: "asyncio.Task[asyncpg.Connection[asyncpg.Record]]") -> None:
        """Store the connection, even if its requester was cancelled."""
        if connecting.done():
            self._connecting = None
            if not connecting.cancelled() and connecting.exception() is None:
                self._connection = connecting.result()

    async def _connected(self) -> "asyncpg.Connection[asyncpg.Record]":
        return await connect(
            self._url,
            pooler=self._pooler,
            timeout=PATIENCE,
            command_timeout=PATIENCE,
            server_settings={"application_name": "tenantry lease", "role": ROLE},
        )
