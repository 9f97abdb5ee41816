"""Connections through a pooler such as PgBouncer: the session state that it preserves, and its detection."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import asyncpg

from adapters.postgres.connection.connections import Connection, ServiceConnection, scope_text
from adapters.postgres.connection.failures import opening, translated
from domain.scope import Scope

Pooler = Literal["none", "session", "transaction"]
"""Pooler before the server: none, or one that assigns a server to a client per session or per transaction."""

AT_START = frozenset({"application_name"})
"""Settings that poolers accept when a client connects; poolers refuse or silently omit any other setting."""
ROUNDS = 3
ANSWERS_WITHIN = 1.0
"""Seconds to wait, because a pooler without a free server lets clients wait."""


class TransactionConnection(ServiceConnection):
    """A connection that may use another server for each transaction: it stores no session state.

    Each transaction sets role, scope and settings, and a statement outside of one gets its own transaction. ``local``
    is the SQL that sets them.
    """

    __slots__ = ("_has_prepared", "_mode", "_scope", "local")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.local, self._scope, self._mode, self._has_prepared = "", "", "READ WRITE", False

    async def show(self, scope: Scope, *, read_only: bool) -> None:
        """Store scope and mode for statements outside a transaction."""
        self._scope, self._mode = scope_text(scope), "READ ONLY" if read_only else "READ WRITE"

    async def begin(self, scope: Scope, *, mode: str = "READ WRITE") -> None:
        await self._begin(scope_text(scope), mode)

    async def commit(self) -> None:
        # The next client of the server connection must not find this driver's statement names.
        if self._has_prepared:
            await self._settle("DEALLOCATE ALL")
            self._has_prepared = False
        await super().commit()

    async def prepare(self, *args: Any, **more: Any) -> Any:
        self._has_prepared = True
        # The driver numbers statement names per process, so another process may have prepared the same name on this
        # server connection.
        more.setdefault("name", f"tenantry_{secrets.token_hex(8)}")
        return await super().prepare(*args, **more)

    async def fetch_anew(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        return list(await self.fetch(query, *arguments))  # without a cache every statement is prepared again

    async def fetch(self, *args: Any, **more: Any) -> Any:
        async with self._alone():
            return await super().fetch(*args, **more)

    async def fetchrow(self, *args: Any, **more: Any) -> Any:
        async with self._alone():
            return await super().fetchrow(*args, **more)

    async def fetchval(self, *args: Any, **more: Any) -> Any:
        async with self._alone():
            return await super().fetchval(*args, **more)

    async def execute(self, *args: Any, **more: Any) -> str:
        async with self._alone():
            return await super().execute(*args, **more)

    async def executemany(self, *args: Any, **more: Any) -> Any:
        async with self._alone():
            return await super().executemany(*args, **more)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        if self.is_in_transaction():
            yield
            return
        await self._begin(self._scope, self._mode)
        try:
            yield
        except BaseException:
            await self.roll_back()
            raise
        await self.commit()

    async def _begin(self, scope: str, mode: str) -> None:
        await self._settle(f"BEGIN {mode}; {self.local}SET LOCAL tenantry.scope = '{scope}'")


def settings_text(settings: Mapping[str, str], how: Literal["SET", "SET LOCAL"]) -> str:
    """Return statements for the service's settings; their names and values are constants."""
    return "".join(f"{how} {name} = '{value}'; " for name, value in settings.items() if name not in AT_START)


async def pooler_of(url: str) -> Pooler:
    """Return the pooler before the server, if any. Raises ServiceUnavailable if the database is unavailable.

    A pooler reports other process numbers than the server. To detect a transaction pooler, another client occupies the
    free server between two transactions.
    """
    with translated():
        with opening(url):
            first = await asyncpg.connect(url, **_PLAIN)
        try:
            if await _backend(first) == first.get_server_pid():
                return "none"
            second = await asyncpg.connect(url, **_PLAIN)
            try:
                rounds = [await _mode_seen(first, second)]
                while rounds[-1] is None and len(rounds) < ROUNDS:
                    rounds.append(await _mode_seen(first, second))
            finally:
                second.terminate()
            return rounds[-1] or "session"
        finally:
            first.terminate()


_PLAIN: dict[str, Any] = {"timeout": 5, "statement_cache_size": 0}


async def _backend(connection: Connection) -> int:
    async with connection.transaction():
        found: int = await connection.fetchval("SELECT pg_backend_pid()")
    return found


async def _mode_seen(first: Connection, second: Connection) -> Pooler | None:
    """Return the pooler's mode; None if the observation may be chance."""
    before = await _backend(first)
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            await second.execute("BEGIN")
    except TimeoutError:
        return "session"  # the second client gets no server: the first holds it
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            return None if await _backend(first) == before else "transaction"
    except TimeoutError:
        return "transaction"  # the second client received the first one's server connection
    finally:
        await second.execute("ROLLBACK")
