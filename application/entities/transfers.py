"""Rows of any entity out into files and in from them."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import BinaryIO

from application.entities.writing import RowWriter, Write, WriteOutcome, ensure_may_write, ensure_stored
from application.ports.database import Database
from application.ports.entities.files import ImportRequest, Loaded, Loading, ReadSheet, Sheets, TransferTransaction
from domain.entities.bodies import Sendable
from domain.entities.declaration import EntityModel
from domain.entities.query.query import Query
from domain.entities.sheets import (
    MOST_ERRORS,
    MOST_XLSX_ROWS,
    Form,
    ImportOptions,
    Report,
    RowFault,
    exported_columns,
    key_field,
)
from domain.errors import BadRequest, ServiceUnavailable, UnprocessableEntity, ValidationError
from domain.scope import EveryTenant, Scope

AT_ONCE = 8
"""Files that one process sends or takes at a time; each holds a connection for as long as it lasts."""


class _Undone(Exception):
    """Takes back what a transaction did; the report of it stands."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__()


@dataclass
class Turnstile:
    inside: int = 0

    def __enter__(self) -> None:
        """Raises ServiceUnavailable at once: a queue of long answers helps nobody."""
        if self.inside >= AT_ONCE:
            raise ServiceUnavailable("Too many files are on their way: try again shortly.")
        self.inside += 1

    def __exit__(self, *_: object) -> None:
        self.inside -= 1


@dataclass(frozen=True)
class FileTransfer(RowWriter):
    """The permission has been checked before; what a row may be, and whose it is, is checked here."""

    database: Database[TransferTransaction]
    sheets: Sheets
    turnstile: Turnstile = field(default_factory=Turnstile)

    async def export(self, scope: Scope, model: EntityModel, query: Query, form: Form) -> AsyncGenerator[bytes, None]:
        with self.turnstile:
            async with (
                self.database.transaction(scope) as tx,
                aclosing(tx.transfers.pieces(model, query, form)) as pieces,
            ):
                async for piece in pieces:
                    yield piece

    async def export_workbook(self, scope: Scope, model: EntityModel, query: Query) -> AsyncGenerator[bytes, None]:
        """The rows are read, and the connection given back, before the first byte."""
        async with self.database.read_only(scope) as read:
            count = await read.transfers.count(model, query, MOST_XLSX_ROWS + 1)
        if count > MOST_XLSX_ROWS:
            raise BadRequest(f"A sheet holds {MOST_XLSX_ROWS} rows, and there are more: filter them, or export CSV.")
        columns = exported_columns(self.registry, model, query.view, shows_tenant=isinstance(scope, EveryTenant))
        async with (
            aclosing(self.export(scope, model, query, "cells")) as rows,
            self.sheets.workbook(columns, rows) as pieces,
        ):
            async for piece in pieces:
                yield piece

    async def import_(
        self, write: Write, model: EntityModel, upload: BinaryIO, options: ImportOptions, may: Sendable
    ) -> WriteOutcome[Report]:
        """Raises ValidationError with all rows' errors where ``atomic`` was asked for."""
        ensure_may_write(write.caller, model)
        if model.asks_other_rows:
            raise UnprocessableEntity("Each of these rows is judged by other rows: create them in batches.")
        with self.turnstile:
            return await ensure_stored(lambda: self._import(write, model, upload, ImportRequest(options, may)))

    async def _import(
        self, write: Write, model: EntityModel, upload: BinaryIO, reading: ImportRequest
    ) -> WriteOutcome[Report]:
        options = reading.options
        loading = Loading(self._act(write), key_field(model, options) if options.mode == "upsert" else None)
        upload.seek(0)
        try:
            async with (
                self.sheets.read(model, upload, reading) as sheet,
                self.database.transaction(write.scope) as tx,
            ):
                if (first := await self._first(tx, write, Report)) is not None:
                    return first
                report = _report(sheet, await tx.transfers.load(model, sheet.rows(), loading))
                if options.dry_run or (options.atomic and report.failed):
                    raise _Undone(report)
                return await self._kept(tx, write, report)
        except _Undone as undone:
            if options.atomic and undone.report.failed:
                raise _all_or_nothing(undone.report) from None
            return WriteOutcome(undone.report)


def _report(sheet: ReadSheet, loaded: Loaded) -> Report:
    errors = sorted((*sheet.errors, *loaded.errors), key=lambda error: error.row)
    return Report(
        imported=loaded.imported,
        skipped=loaded.skipped,
        failed=sheet.failed + len(loaded.errors),
        errors=tuple(errors[:MOST_ERRORS]),
    )


def _all_or_nothing(report: Report) -> ValidationError:
    more = f", of which the first {len(report.errors)} are listed" if report.failed > len(report.errors) else ""
    faults = [RowFault(f"row {one.row}", one.message, one.row) for one in report.errors]
    return ValidationError(f"Nothing was stored: {report.failed} rows have errors{more}.", faults)
