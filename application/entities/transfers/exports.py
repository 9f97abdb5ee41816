"""Export of rows of any entity as a file."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from application.entities.transfers.places import TransferPlaces
from application.ports.database import RowReads
from application.ports.entities.files import Sheets, TransferTransaction
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import Query
from domain.entities.sheets import FILE_FORMS, MOST_XLSX_ROWS, BuiltForm, Form, exported_columns
from domain.errors import BadRequest
from domain.scope import EveryTenant, Scope


@dataclass(frozen=True)
class FileExport:
    """Exports of rows. The caller's permission has been checked before.

    Who serves others takes one of the ``places`` before the first row.
    """

    reads: RowReads[TransferTransaction]
    registry: Registry
    sheets: Sheets
    places: TransferPlaces = field(default_factory=TransferPlaces)

    def pieces(self, scope: Scope, model: EntityModel, query: Query, form: str) -> AsyncGenerator[bytes, None]:
        """Pieces of a file in one of ``FILE_FORMS``. Raises BadRequest for more rows than a sheet of xlsx holds."""
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
        # Such a file is complete before its first byte is sent, so the connection is free by then.
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
