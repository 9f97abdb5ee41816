"""A connection that knows its scope: what row-level security lets it see."""

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
else:  # generic in its stubs alone
    Connection = asyncpg.Connection


# jit: to compile a short statement takes longer, up to a second, than to run it.
SESSION = {"timezone": "UTC", "datestyle": "ISO", "jit": "off"}
"""Settings of every session."""


class ServiceConnection(Connection):
    """A connection with its ``session_state``: scope and mode (``session_key``), or None before the first ``show``.

    Nothing else of a session is ever changed, so that giving it back to the pool needs no round trip. ``lease`` is
    asyncpg's proxy while the connection is acquired from its pool, to release it with. ``is_spoilt`` once nobody knows
    whether a statement that begins or ends a transaction, or sets the session, has taken effect: the pool closes it.
    """

    __slots__ = ("is_spoilt", "lease", "session_state")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.session_state: str | None = None
        self.is_spoilt = False
        self.lease: object = None

    @property
    def unwrapped(self) -> "ServiceConnection":
        """The connection itself, also when asked through asyncpg's proxy, whose calls cost more and which a closed
        connection leaves empty."""
        return self

    async def show(self, scope: Scope, *, read_only: bool) -> None:
        """Sets scope and mode for statements outside a transaction; sent only when the session has others."""
        key = session_key(scope, read_only=read_only)
        if key != self.session_state:
            mode = "on" if read_only else "off"
            # Two statements in one message, which the server runs as one transaction: both hold, or neither does.
            await self._settle(
                f"SET tenantry.scope = '{scope_text(scope)}'; SET default_transaction_read_only = {mode}"
            )
            self.session_state = key

    async def begin(self, scope: Scope, *, mode: str = "READ WRITE") -> None:
        """Begins a transaction that writes, whatever the session's mode is, or one that is ``READ ONLY``."""
        keys = (session_key(scope), session_key(scope, read_only=True))
        # Only another scope needs saying; the transaction's own mode goes before the session's.
        own = "" if self.session_state in keys else f"; SET LOCAL tenantry.scope = '{scope_text(scope)}'"
        await self._settle(f"BEGIN {mode}{own}")

    async def narrow(self, scope: Scope) -> None:
        """Changes whose rows are seen for the rest of the transaction."""
        await self._settle(f"SET LOCAL tenantry.scope = '{scope_text(scope)}'")

    @asynccontextmanager
    async def widened(self, scope: Scope) -> AsyncIterator[None]:
        """Shows rows of every tenant within the block, and those of ``scope`` behind it, in whatever way it is left."""
        await self.narrow(EveryTenant())
        try:
            yield
        except BaseException:
            # A failed transaction takes no statement: going back to a savepoint brings the former scope with it.
            with suppress(asyncpg.PostgresError, *BROKEN):
                await self.narrow(scope)
            raise
        await self.narrow(scope)

    async def commit(self) -> None:
        """Commits; raises InternalError where the server rolls back, as after a failure that was caught and ignored."""
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
        """Ends a statement that was prepared and never run: until then the server keeps the locks of its tables."""
        await self._settle("SELECT 1")

    async def fetch_anew(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        """Rows of a statement that is planned for these arguments."""
        prepared = await self.prepare(query)
        return await prepared.fetch(*arguments)

    async def _settle(self, statement: str) -> str:
        """Cut off half-way its state would be unknown, and the connection is thrown away."""
        try:
            # Not by a subclass, which puts a transaction around what is executed.
            return await Connection.execute(self, statement)
        except (asyncio.CancelledError, *BROKEN):
            # Not terminate(): that would take back what the driver has just begun, to tell the server to stop.
            self.is_spoilt = True
            raise


def session_key(scope: Scope, *, read_only: bool = False) -> str:
    """The state of a session that sees the rows of ``scope``: ``"every"``, ``"<tenant id> read only"``."""
    return f"{scope_text(scope)} read only" if read_only else scope_text(scope)


def scope_text(scope: Scope) -> str:
    """The scope as text of a statement, which is safe there: a tenant's id is a UUID and nothing else."""
    return id_text(scope.id) if isinstance(scope, OneTenant) else EVERY


@lru_cache(4096)
def id_text(tenant_id: UUID) -> str:
    return str(UUID(bytes=tenant_id.bytes))
