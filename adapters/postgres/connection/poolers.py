"""Connections through a pooler such as PgBouncer: the session state that it preserves, and its detection."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from typing import Any, Literal

import asyncpg

from adapters.postgres.connection.connections import Connection, ServiceConnection, scope_text
from adapters.postgres.connection.failures import opening, translated
from adapters.postgres.schema.row_security import EVERY
from domain.errors import BadRequest
from domain.scope import Scope

Pooler = Literal["none", "session", "transaction"]
"""Pooler before the server: none, or one that assigns a server to a client per session or per transaction."""

Route = Literal["none", "session", "transaction", "citus"]
"""Way of statements to the rows: directly, through a pooler, or through the coordinator of a Citus cluster."""

AT_START = frozenset({"application_name"})
"""Settings that poolers accept when a client connects; poolers refuse or silently omit any other setting."""
ROUNDS = 3
ANSWERS_WITHIN = 1.0
"""Seconds to wait, because a pooler without a free server lets clients wait."""


class StatelessConnection(ServiceConnection):
    """A connection whose scope ends with each transaction; a statement outside of one gets its own transaction.

    ``local`` is SQL that sets more than the scope.
    """

    __slots__ = ("_mode", "_scope", "local")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.local, self._scope, self._mode = "", "", "READ WRITE"

    async def show(self, scope: Scope, *, read_only: bool) -> None:
        """Store scope and mode for statements outside a transaction."""
        self._scope, self._mode = scope_text(scope), "READ ONLY" if read_only else "READ WRITE"

    async def begin(self, scope: Scope, *, mode: str = "READ WRITE") -> None:
        await self._begin(scope_text(scope), mode)

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

    async def fetch_anew(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        async with self._alone():
            return await super().fetch_anew(query, *arguments)

    async def copy_from_query(self, *args: Any, **more: Any) -> Any:
        async with self._alone():
            return await super().copy_from_query(*args, **more)

    def transaction(self, *args: Any, **more: Any) -> Any:
        # The driver would send BEGIN by execute(), without a scope.
        return super().transaction(*args, **more) if self.is_in_transaction() else self._alone()

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


class TransactionConnection(StatelessConnection):
    """A connection that may use another server for each transaction: each sets role, scope and settings."""

    __slots__ = ("_has_prepared",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self._has_prepared = False

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


class ClusterConnection(StatelessConnection):
    """A connection to the coordinator of a Citus cluster: its nodes receive the settings of a transaction only.

    Raises BadRequest for statements that Citus refuses.
    """

    __slots__ = ()

    is_of_cluster = True

    async def fetch(self, query: str, *args: Any, **more: Any) -> Any:
        with _on_cluster():
            return await super().fetch(spelled_for_citus(query), *args, **more)

    async def fetchrow(self, query: str, *args: Any, **more: Any) -> Any:
        with _on_cluster():
            return await super().fetchrow(spelled_for_citus(query), *args, **more)

    async def fetchval(self, query: str, *args: Any, **more: Any) -> Any:
        with _on_cluster():
            return await super().fetchval(spelled_for_citus(query), *args, **more)

    async def fetch_anew(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        with _on_cluster():
            return await super().fetch_anew(spelled_for_citus(query), *arguments)

    async def execute(self, query: str, *args: Any, **more: Any) -> str:
        with _on_cluster():
            return await super().execute(query, *args, **more)

    async def copy_from_query(self, query: str, *args: Any, **more: Any) -> Any:
        with _on_cluster():
            return await super().copy_from_query(spelled_for_citus(query), *args, **more)

    async def _begin(self, scope: str, mode: str) -> None:
        # In one message, the nodes would receive BEGIN as well.
        await self._settle(f"BEGIN {mode}")
        await self.narrow_to(scope)

    async def narrow_to(self, scope: str) -> None:
        await super().narrow_to(scope)
        if scope == EVERY:
            # After writes on several nodes at once, Citus refuses to write rows that all tenants share.
            await self._settle("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")


@lru_cache(4096)
def spelled_for_citus(query: str) -> str:
    """Return the statement without what Citus cannot execute.

    It executes the subquery of ``planned_for_values``, which PostgreSQL never reads. A locking CTE with ``IN`` has a
    column for the join, and Citus reads its result in another format than it wrote it.
    """
    return _LOCKED_AMONG.sub(r"\1 = ANY (ARRAY(\2))", _NEVER_READ.sub("", query))


_NEVER_READ = re.compile(
    r'\s+OR \(SELECT count\(\*\) AS \w+\s+FROM generate_series\(1, 1000000000\) AS "any 0",'
    r' generate_series\(1, 1000000000\) AS "any 1"\) > 0'
)
_LOCKED_AMONG = re.compile(r"(\b\w+\.[\w$]+) IN \((SELECT [^()]*)\)(?= ORDER BY \w+\.id FOR )")
_CONSTRAINT = re.compile(r'constraint "([^"]+)_\d{6,}"')
UNSUPPORTED = "The database is a Citus cluster, which does not support this request."


@contextmanager
def _on_cluster() -> Iterator[None]:
    """Name constraints as their table does, and not its shard."""
    try:
        yield
    except asyncpg.FeatureNotSupportedError as error:
        raise BadRequest(UNSUPPORTED) from error
    except asyncpg.InvalidTextRepresentationError as error:
        # Citus read the result of a locking CTE as text, and found the first bytes of the binary format.
        if '"PGCOPY' in str(error):
            raise BadRequest(UNSUPPORTED) from error
        raise
    except asyncpg.IntegrityConstraintViolationError as error:
        # Citus passes on the message of a node alone.
        if found := _CONSTRAINT.search(str(error)):
            error.constraint_name = found[1]
        raise


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
