"""A connection that knows its scope: what row-level security lets it see."""

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg

from adapters.postgres.connection.failures import BROKEN
from adapters.postgres.schema.row_security import EVERY
from domain.errors import InternalError
from domain.scope import OneTenant, Scope

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
else:  # generic in its stubs alone
    Connection = asyncpg.Connection


SESSION = {"timezone": "UTC", "datestyle": "ISO", "jit": "off"}
"""Of every session. To compile a short statement takes longer, up to a second, than to run it."""


class ServiceConnection(Connection):
    """``shown`` is the session's scope and mode (``session_key``); ``lent_for`` is the pool's note.

    Nothing else of a session is ever changed, so that giving it back to the pool needs no round trip.
    """

    __slots__ = ("lent_for", "shown")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.shown: str | None = None
        self.lent_for: str | None = None

    async def show(self, scope: Scope, *, read_only: bool) -> None:
        """Sets scope and mode for statements outside a transaction; sent only when the session has others."""
        key = session_key(scope, read_only=read_only)
        if key != self.shown:
            mode = "on" if read_only else "off"
            await self._settle(
                f"SET tenantry.scope = '{scope_text(scope)}'; SET default_transaction_read_only = {mode}"
            )
            self.shown = key

    async def begin(self, scope: Scope) -> None:
        keys = (session_key(scope), session_key(scope, read_only=True))
        own = "" if self.shown in keys else f"; SET LOCAL tenantry.scope = '{scope_text(scope)}'"
        await self._settle(f"BEGIN READ WRITE{own}")

    async def narrow(self, scope: Scope) -> None:
        """Changes whose rows are seen for the rest of the transaction."""
        await self._settle(f"SET LOCAL tenantry.scope = '{scope_text(scope)}'")

    async def commit(self) -> None:
        """A failure that somebody swallowed makes the server roll back where a commit was asked for."""
        if await self._settle("COMMIT") != "COMMIT":
            raise InternalError

    async def roll_back(self) -> None:
        if self.is_closed():
            return
        try:
            await self._settle("ROLLBACK")
        except (*BROKEN, asyncpg.PostgresError):
            self.terminate()

    async def _settle(self, statement: str) -> str:
        """Cut off half-way its state would be unknown, and the connection is thrown away."""
        try:
            return await self.execute(statement)
        except (asyncio.CancelledError, *BROKEN):
            self.terminate()
            raise


def session_key(scope: Scope, *, read_only: bool = False) -> str:
    """The state of a session that sees the rows of ``scope``: ``"every"``, ``"<tenant id> read only"``."""
    return f"{scope_text(scope)} read only" if read_only else scope_text(scope)


def scope_text(scope: Scope) -> str:
    """The id is a UUID and nothing else, so it can stand in a statement's text."""
    return _id_text(scope.id) if isinstance(scope, OneTenant) else EVERY


@lru_cache(4096)
def _id_text(tenant_id: UUID) -> str:
    return str(UUID(bytes=tenant_id.bytes))
