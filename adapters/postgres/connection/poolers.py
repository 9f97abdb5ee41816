"""Connections through a pooler such as PgBouncer: what it keeps of a session, and how that is found out."""

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
"""What stands before the server: nothing, or a pooler that gives a server to a client for its session or for each
transaction."""

AT_START = frozenset({"application_name"})
"""Settings that poolers take when a client connects; others would be refused, or left out without a word."""
ROUNDS = 3
ANSWERS_WITHIN = 1.0
"""Seconds; a pooler without a free server lets clients wait."""


class TransactionConnection(ServiceConnection):
    """A connection that may be given another server for each transaction: nothing is kept in a session.

    Role, scope and settings are set inside each transaction, and a statement outside of one gets one of its own.
    ``local`` is the text that sets them.
    """

    __slots__ = ("_has_prepared", "_mode", "_scope", "local")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.local, self._scope, self._mode, self._has_prepared = "", "", "READ WRITE", False

    async def show(self, scope: Scope, *, read_only: bool) -> None:
        """Remembers scope and mode for statements outside a transaction."""
        self._scope, self._mode = scope_text(scope), "READ ONLY" if read_only else "READ WRITE"

    async def begin(self, scope: Scope, *, mode: str = "READ WRITE") -> None:
        await self._begin(scope_text(scope), mode)

    async def commit(self) -> None:
        # Whoever gets the server next must not find statements of the names that a driver makes up.
        if self._has_prepared:
            await self._settle("DEALLOCATE ALL")
            self._has_prepared = False
        await super().commit()

    async def prepare(self, *args: Any, **more: Any) -> Any:
        self._has_prepared = True
        # The driver counts names for each process, and the server may have seen those of another.
        more.setdefault("name", f"tenantry_{secrets.token_hex(8)}")
        return await super().prepare(*args, **more)

    async def fetch_anew(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        return list(await self.fetch(query, *arguments))  # without a cache every statement is prepared anew

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
        """A transaction around one statement, unless there is one already."""
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
    """Statements for settings of the service's own, whose names and values are constants."""
    return "".join(f"{how} {name} = '{value}'; " for name, value in settings.items() if name not in AT_START)


async def pooler_of(url: str) -> Pooler:
    """Pooler before the server, if any. Raises ServiceUnavailable while the database is away.

    A pooler tells its clients process numbers of its own. Whether it gives a server away between two transactions is
    seen while another client holds the one that was free.
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
    """Mode of the pooler; None where the first client had the same server again, which may be chance."""
    before = await _backend(first)
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            await second.execute("BEGIN")
    except TimeoutError:
        return "session"  # no second server for a second client: the first one keeps its own
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            return None if await _backend(first) == before else "transaction"
    except TimeoutError:
        return "transaction"  # its only server was given to the second
    finally:
        await second.execute("ROLLBACK")
