"""Export of an entity's rows as a file."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta

from application.entities.transfers.transfer_slots import TransferSlots
from application.ports.database import RowReads
from application.ports.entities.files import Sheets, TransferTransaction
from application.ports.runtime import Clock
from application.throttle import Throttle
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import Query
from domain.entities.sheets import FILE_FORMS, MOST_XLSX_ROWS, BuiltForm, Form, exported_columns
from domain.errors import BadRequest
from domain.scope import Caller, EveryTenant, Scope

ASKED_AGAIN = timedelta(seconds=10)
"""Time between checks of the recipient's rights, because sending a file may last an hour."""


@dataclass(frozen=True)
class FileExport:
    """Exports of rows. The permission was checked before."""

    reads: RowReads[TransferTransaction]
    registry: Registry
    sheets: Sheets

    def pieces(self, scope: Scope, model: EntityModel, query: Query, form: str) -> AsyncGenerator[bytes, None]:
        """Yield pieces of a file in one of ``FILE_FORMS``. Raises BadRequest for more rows than an xlsx sheet holds."""
        if (built := FILE_FORMS[form].built) is not None:
            return self._built(scope, model, query, built)
        return self._rows(scope, model, query, "json" if form == "json" else "csv")

    async def _rows(self, scope: Scope, model: EntityModel, query: Query, form: Form) -> AsyncGenerator[bytes, None]:
        async with (
            self.reads.read_transaction(scope) as tx,
            aclosing(tx.transfers.pieces(model, query, form)) as pieces,
        ):
            async for piece in pieces:
                yield piece

    async def _built(
        self, scope: Scope, model: EntityModel, query: Query, form: BuiltForm
    ) -> AsyncGenerator[bytes, None]:
        if form == "xlsx":
            await self._ensure_fits_a_sheet(scope, model, query)
        columns = exported_columns(self.registry, model, query.view, shows_tenant=isinstance(scope, EveryTenant))
        # The file is complete before its first byte is sent, so the connection is free by then.
        async with (
            aclosing(self._rows(scope, model, query, "cells")) as rows,
            self.sheets.write(columns, rows, form) as pieces,
        ):
            async for piece in pieces:
                yield piece

    async def _ensure_fits_a_sheet(self, scope: Scope, model: EntityModel, query: Query) -> None:
        count = await self.reads.read(scope, lambda read: read.transfers.count(model, query, MOST_XLSX_ROWS + 1))
        if count > MOST_XLSX_ROWS:
            raise BadRequest(f"A sheet holds {MOST_XLSX_ROWS} rows, and there are more: filter them, or export CSV.")


@dataclass(frozen=True)
class CallersExport:
    """Exports for callers: each holds one slot, and the current rights of the caller limit the export."""

    export: FileExport
    slots: TransferSlots
    throttle: Throttle
    clock: Clock

    async def pieces(
        self, caller: Caller, scope: Scope, model: EntityModel, query: Query, form: str
    ) -> AsyncGenerator[bytes, None]:
        """Yield pieces as ``FileExport`` does, holding a slot of the caller. Raises RateLimited before any piece."""
        file = self.export.pieces(scope, model, query, form)
        with self.slots.taken(caller):
            async with aclosing(while_alive(caller, file, self.throttle.ensure_alive, self.clock)) as pieces:
                async for piece in pieces:
                    yield piece


async def while_alive(
    caller: Caller, pieces: AsyncGenerator[bytes, None], ensure_alive: Callable[[Caller], Awaitable[None]], clock: Clock
) -> AsyncGenerator[bytes, None]:
    """Yield the file. Raises Unauthorized once the caller was logged out or lost rights."""
    asked = clock.now()
    async with aclosing(pieces):
        async for piece in pieces:
            if (now := clock.now()) - asked >= ASKED_AGAIN:
                await ensure_alive(caller)
                asked = now
            yield piece
