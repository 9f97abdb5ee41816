"""A connection with its scope, which row-level security enforces."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg

from adapters.postgres.connection.failures import BROKEN
from adapters.postgres.schema.row_security import EVERY
from domain.errors import InternalError
from domain.scope import EveryTenant, OneTenant, Scope

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
else:  # generic only in the stubs
    Connection = asyncpg.Connection


# jit: compiling a short statement needs up to a second, longer than running it.
SESSION = {"timezone": "UTC", "datestyle": "ISO", "jit": "off"}
"""Settings of every session."""


class ServiceConnection(Connection):
    """A connection with its ``session_state``: scope and mode (``session_key``), or None before the first ``show``.

    A session has no other state that changes, so its return to the pool needs no round trip. ``lease`` is asyncpg's
    proxy while the connection is in use; the release needs it. ``is_spoilt`` means that an interrupted statement may
    have changed the transaction or session: the pool then closes the connection.
    """

    __slots__ = ("is_spoilt", "lease", "session_state")

    is_of_cluster = False
    """Whether the server is the coordinator of a Citus cluster."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.session_state: str | None = None
        self.is_spoilt = False
        self.lease: object = None

    @property
    def unwrapped(self) -> "ServiceConnection":
        """The connection without asyncpg's proxy: proxy calls cost more, and a closed proxy has no connection."""
        return self

    async def show(self, scope: Scope, *, read_only: bool) -> None:
        """Set scope and mode for statements outside a transaction, unless the session already has them."""
        key = session_key(scope, read_only=read_only)
        if key != self.session_state:
            mode = "on" if read_only else "off"
            # One message: the server runs both statements as one transaction.
            await self._settle(
                f"SET tenantry.scope = '{scope_text(scope)}'; SET default_transaction_read_only = {mode}"
            )
            self.session_state = key

    async def begin(self, scope: Scope, *, mode: str = "READ WRITE") -> None:
        """Begin a transaction that writes, or one with another ``mode``, in any mode of the session."""
        keys = (session_key(scope), session_key(scope, read_only=True))
        # Set only another scope. The transaction's mode overrides the session's.
        own = "" if self.session_state in keys else f"; SET LOCAL tenantry.scope = '{scope_text(scope)}'"
        await self._settle(f"BEGIN {mode}{own}")

    async def narrow(self, scope: Scope) -> None:
        """Limit the visible rows for the rest of the transaction."""
        await self.narrow_to(scope_text(scope))

    async def narrow_to(self, scope: str) -> None:
        await self._settle(f"SET LOCAL tenantry.scope = '{scope}'")

    @asynccontextmanager
    async def widened(self, scope: Scope) -> AsyncIterator[None]:
        """Show rows of every tenant within the block, and always only those of ``scope`` after it."""
        await self.narrow(EveryTenant())
        try:
            yield
        except BaseException:
            # A failed transaction accepts no statement. Its rollback to a savepoint restores the scope.
            with suppress(asyncpg.PostgresError, *BROKEN):
                await self.narrow(scope)
            raise
        await self.narrow(scope)

    async def commit(self) -> None:
        """Commit. Raises InternalError if the server rolls back, as after a caught and ignored failure."""
        if await self._settle("COMMIT") != "COMMIT":
            raise InternalError

    async def roll_back(self) -> None:
        if self.is_closed() or self.is_spoilt:
            return
        try:
            await self._settle("ROLLBACK")
        except (*BROKEN, asyncpg.PostgresError):
            self.is_spoilt = True

    async def synchronize(self) -> None:
        """End a prepared statement that did not run, so that it releases its table locks."""
        await self._settle("SELECT 1")

    async def fetch_anew(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        """Return the rows of a statement that PostgreSQL plans for these arguments."""
        prepared = await self.prepare(query)
        return await prepared.fetch(*arguments)

    async def _settle(self, statement: str) -> str:
        """Run the statement. If interrupted, mark the connection for closing: its state is unknown."""
        try:
            # Skip the execute() of a subclass, because it opens a transaction.
            return await Connection.execute(self, statement)
        except (asyncio.CancelledError, *BROKEN):
            # terminate() would cancel the driver's request to stop the statement.
            self.is_spoilt = True
            raise


def session_key(scope: Scope, *, read_only: bool = False) -> str:
    """Return the session state for the rows of ``scope``: ``"every"``, ``"<tenant id> read only"``."""
    return f"{scope_text(scope)} read only" if read_only else scope_text(scope)


def scope_text(scope: Scope) -> str:
    """Return the scope as text, safe in a statement: a tenant's id is always a UUID."""
    return id_text(scope.id) if isinstance(scope, OneTenant) else EVERY


@lru_cache(4096)
def id_text(tenant_id: UUID) -> str:
    return str(UUID(bytes=tenant_id.bytes))
