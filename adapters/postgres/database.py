"""PostgresDatabase: sessions and transactions on connections limited to a scope."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import asyncpg
from sqlalchemy.ext.asyncio import AsyncSession

from adapters.postgres.connection.codecs import set_codecs
from adapters.postgres.connection.connecting import OF_CLUSTER, connect
from adapters.postgres.connection.connections import SESSION, Connection, ServiceConnection, scope_text, session_key
from adapters.postgres.connection.failures import HALF_WAY, prepared, translated
from adapters.postgres.connection.outages import Outages
from adapters.postgres.connection.pool import CLOSED_AFTER, AsyncpgPool, TenantPool, nothing, synchronized
from adapters.postgres.connection.poolers import Route, StatelessConnection
from adapters.postgres.connection.search_indexes import searches_found
from adapters.postgres.connection.shares import share_of
from adapters.postgres.connection.waiting import PoolBusy
from adapters.postgres.entities.reading.narrowing import NO_SEARCHES, USUAL_LIMITS, Searches, SearchLimits
from adapters.postgres.migrations.pending import VERSIONS, pending_on
from adapters.postgres.own_queries.sessions import OwnQueries
from adapters.postgres.schema.row_security import ROLE
from adapters.postgres.transaction import PostgresTransaction
from application.ports.load import PoolLoad
from application.ports.runtime import Ids
from domain.entities.declaration import Registry
from domain.errors import InternalError, ServiceUnavailable
from domain.scope import EveryTenant, OneTenant, Scope

SEARCHES_KNOWN_FOR = 60.0
"""Seconds before a new connection checks again which searches have an index."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Time limits, in seconds.

    ``acquire``: wait for a free connection. ``connect``: open a new connection. ``statement`` and ``lock``: limits of
    the server. ``mend``: recover a connection after an interrupted statement. ``ready``: answer of the server to a
    readiness check.
    """

    acquire: float = 5.0
    connect: float = 5.0
    statement: float = 30.0
    lock: float = 10.0
    mend: float = 5.0
    ready: float = 5.0


STATELESS = frozenset({"transaction", "citus"})
"""Routes on which a connection has no scope between two transactions."""

_READINESS = "readiness"
"""Scope of the readiness check, so that it does not wait for other scopes. It reads no tenant's rows."""


@dataclass
class PostgresDatabase:
    """Database with connections that run as an unprivileged role; see row_security.

    Connections are opened on demand, so the service starts and runs while the database is unavailable.
    """

    url: str
    registry: Registry
    ids: Ids
    connections: int = 20
    patience: Patience = Patience()
    migrations: Sequence[Path] = (VERSIONS,)
    pooler: Route = "none"
    outages: Outages = field(default_factory=Outages)
    search_limits: SearchLimits = USUAL_LIMITS
    searches: Searches = NO_SEARCHES
    _is_current: bool = False
    _searches_due: float = 0.0
    _pool: TenantPool | None = None

    async def open(self) -> None:
        self._pool = TenantPool(await self._asyncpg_pool(), self.patience.acquire, self.patience.mend)

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
        await self.own_queries.close()

    def load(self) -> PoolLoad:
        """Return the use of the connections; zeros while the database is closed."""
        return PoolLoad(most=self.connections) if self._pool is None else self._pool.load()

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[PostgresTransaction]:
        return self._transaction(scope, "READ WRITE")

    def read_transaction(self, scope: Scope) -> AbstractAsyncContextManager[PostgresTransaction]:
        """Open a read-only transaction, as on a standby."""
        return self._transaction(scope, "READ ONLY")

    @asynccontextmanager
    async def _transaction(self, scope: Scope, mode: str) -> AsyncIterator[PostgresTransaction]:
        async with self.lent(scope_text(scope), stays=False) as connection:
            await connection.begin(scope, mode=mode)
            try:
                yield PostgresTransaction(connection, self.registry, self.ids, scope, self.searches)
            except BaseException:
                await connection.roll_back()
                raise
            await connection.commit()

    def read_only(self, scope: Scope) -> "_Session":
        return _Session(self, scope, read_only=True)

    def autocommit(self, scope: Scope) -> "_Session":
        return _Session(self, scope, read_only=False)

    def session(self, scope: OneTenant) -> AbstractAsyncContextManager[AsyncSession]:
        """Open an SQLAlchemy session for a project's queries, limited to the rows of one tenant."""
        return self.own_queries.session(scope)

    @cached_property
    def own_queries(self) -> OwnQueries:
        return OwnQueries(
            self.connect_for_own_queries,
            self.session_settings(),
            self.registry,
            self.ids,
            self.patience.acquire,
            is_of_cluster=self.pooler == "citus",
        )

    async def connect_for_own_queries(self) -> "asyncpg.Connection[asyncpg.Record]":
        if self.pooler == "transaction":
            raise ServiceUnavailable("Sessions of SQLAlchemy need a connection with persistent settings.")
        connection = await connect(
            self.url,
            # SQLAlchemy begins the transactions itself.
            pooler="none" if self.pooler == "citus" else self.pooler,
            timeout=self.patience.connect,
            command_timeout=self.patience.statement,
            server_settings=self.session_settings() | (OF_CLUSTER if self.pooler == "citus" else {}),
        )
        try:
            # Install these date codecs first; SQLAlchemy adds its own codec for JSON.
            with prepared(connection):
                await set_codecs(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def is_ready(self) -> bool:
        try:
            async with self.lent(_READINESS, stays=False) as connection:
                # Without a timeout, health checks of a silent server would use all connections.
                await connection.fetchval("SELECT 1", timeout=self.patience.ready)
                self._is_current = self._is_current or not await pending_on(connection, self.registry, self.migrations)
        except ServiceUnavailable as error:
            # A busy pool does not mean that the server failed.
            is_busy = isinstance(error.__cause__, PoolBusy) and self.outages.phase % 2 == 0
            return is_busy and self._is_current
        return self._is_current

    def lent(self, state: str, *, stays: bool = True) -> "_Lent":
        """Lend a connection in the session ``state``; without ``stays`` (a transaction) the state
        ends with the loan.
        """
        if self._pool is None:
            raise ServiceUnavailable("The database is not open.")
        # Without session state, waiting for a certain connection has no benefit.
        return _Lent(self._pool, self.outages, state, stays=stays and self.pooler not in STATELESS)

    async def _asyncpg_pool(self) -> AsyncpgPool:
        return await asyncpg.create_pool(
            self.url,
            connect=cast(Any, partial(connect, pooler=self.pooler)),  # receives the pool's arguments by name
            min_size=0,
            max_size=self.connections,
            max_queries=2**31,  # replace connections after idle time, not after many queries
            max_inactive_connection_lifetime=CLOSED_AFTER,
            connection_class=ServiceConnection,
            init=cast(Any, self._prepare_within if self.pooler in STATELESS else self._prepare),
            reset=synchronized,
            timeout=self.patience.connect,
            command_timeout=self.patience.statement,
            statement_cache_size=1024,  # entities and filters make many statements
            max_cached_statement_lifetime=0,
            # Statements with includes exceed the default of 15 KiB, and would be prepared at each call.
            max_cacheable_statement_size=64 * 1024,
            server_settings=self.session_settings(),
        )

    async def _prepare_within(self, connection: StatelessConnection) -> None:
        """Run ``_prepare`` in a transaction: its statements need a scope, and behind a pooler the same server."""
        await connection.begin(EveryTenant())
        await self._prepare(connection)
        await connection.commit()

    async def _prepare(self, connection: Connection) -> None:
        """Set the codecs, and read the list of search indexes again once it expires, because migrations change it."""
        with prepared(connection):
            await set_codecs(connection)
            now = asyncio.get_running_loop().time()
            if now >= self._searches_due:
                self._searches_due = now + SEARCHES_KNOWN_FOR
                self.searches = Searches(await searches_found(connection, self.registry), self.search_limits)

    def session_settings(self) -> dict[str, str]:
        return {
            **SESSION,
            "application_name": "tenantry",
            "role": ROLE,
            "lock_timeout": f"{self.patience.lock:.0f}s",
            "idle_in_transaction_session_timeout": f"{2 * self.patience.statement:.0f}s",
        }


class _Lent:
    """Context with a connection; translates the driver's errors to domain errors."""

    __slots__ = ("_connection", "_outages", "_phase", "_pool", "_share", "_state", "_stays")

    def __init__(self, pool: TenantPool, outages: Outages, state: str, *, stays: bool) -> None:
        self._pool, self._outages, self._state, self._stays = pool, outages, state, stays
        self._share = share_of(state)

    async def __aenter__(self) -> ServiceConnection:
        self._phase = self._outages.phase
        try:
            self._connection = await self._taken()
        except Exception as error:
            self._outages.failed(self._phase, error, None)
            with translated():
                raise
        return self._connection

    async def _taken(self) -> ServiceConnection:
        pool, state, seconds = self._pool, self._state, self._pool.patience
        if not pool.shares.is_taken(self._share):
            began = asyncio.get_running_loop().time()
            await pool.shares.turn(self._share, seconds)
            seconds = max(0.0, began + seconds - asyncio.get_running_loop().time())
        try:
            return await pool.take(state, seconds, stays=self._stays)
        except BaseException:
            pool.shares.give_back(self._share)
            raise

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
            # The server is now a standby. A new connection finds the primary.
            self._connection.terminate()
        # After an interruption, the connection still waits for the end or the values of its statement.
        is_cut_off = isinstance(error, HALF_WAY)
        is_slow = isinstance(error, TimeoutError) and not self._connection.is_closed()
        lost = self._lost if is_slow else nothing
        # Return the place first: its next holder may wait for this connection.
        self._pool.shares.give_back(self._share)
        self._pool.give(self._connection, self._state, stays=self._stays, cut_off=lost if is_cut_off else None)
        if error is None:
            self._outages.worked(self._phase)
            return
        # A slow statement proves nothing: a server that cancels it is available.
        if not is_slow:
            self._outages.failed(self._phase, error, self._connection)
        with translated(self._connection):
            raise error

    def _lost(self) -> None:
        self._outages.failed(self._phase, TimeoutError(), None)


class _Session:
    """Connection with a scope's rows, without a transaction."""

    # A class, because a generator costs every request several microseconds more.

    __slots__ = ("_database", "_lent", "_read_only", "_scope")

    def __init__(self, database: PostgresDatabase, scope: Scope, *, read_only: bool) -> None:
        self._database, self._scope, self._read_only = database, scope, read_only

    async def __aenter__(self) -> PostgresTransaction:
        database, scope = self._database, self._scope
        self._lent = database.lent(session_key(scope, read_only=self._read_only))
        connection = await self._lent.__aenter__()
        try:
            await connection.show(scope, read_only=self._read_only)
        except BaseException as error:
            await self._lent.__aexit__(type(error), error, error.__traceback__)
            raise
        return PostgresTransaction(connection, database.registry, database.ids, scope, database.searches)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._read_only and isinstance(error, asyncpg.ReadOnlySQLTransactionError):
            # Raised by this service, not by a standby: it must not look like an outage.
            error = InternalError("A write was tried on a read-only connection.")
        await self._lent.__aexit__(kind, error, trace)
        if isinstance(error, InternalError):
            raise error
