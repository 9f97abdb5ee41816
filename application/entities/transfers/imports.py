"""Import of an entity's rows from a file."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

from msgspec import Struct

from application.entities.checks.rule_rows import TransactionRows
from application.entities.guarded_fields import GuardedFields
from application.entities.transfers.transfer_slots import TransferSlots
from application.entities.writing import (
    Write,
    WriteOutcome,
    replayed_response,
    store_response,
    stores_rows,
)
from application.ports.database import Database
from application.ports.entities.files import (
    ImportRequest,
    Loaded,
    Loading,
    ReadSheet,
    RowRule,
    Sheets,
    TransferTransaction,
)
from application.ports.runtime import Clock
from application.ports.upkeep import Upkeep
from domain.entities.bodies import FieldAccess
from domain.entities.declaration import EntityModel, Registry
from domain.entities.files.options import ImportOptions, key_field
from domain.entities.sheets import MOST_ERRORS, BrokenRow, FileHeader, RowError, RowFault, related_columns
from domain.errors import ServiceUnavailable, TokenExpired, ValidationError
from domain.scope import Caller, ensure_alive

log = logging.getLogger(__name__)

ANALYZED_FROM = 10_000
"""Minimum number of imported rows after which the service renews the table's statistics. Otherwise the planner uses the
old ones until autovacuum runs, by default up to a minute later.
"""
LONGEST_ANALYSIS = 30.0
"""Seconds that an import's response waits for the statistics."""


class Report(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of an import; ``failed`` counts the rows with errors, ``errors`` and ``skipped_rows`` list 1,000 each.

    ``header`` is the file's, only for a dry run.
    """

    imported: int
    skipped: int
    failed: int
    errors: tuple[RowError, ...]
    skipped_rows: tuple[int, ...] = ()
    header: FileHeader | None = None


class _RollBack(Exception):
    """Roll back the transaction, but return the report."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__()


@dataclass(frozen=True)
class FileImport:
    """Imports of rows. The handler has checked the permission before; this class checks tenant and rules.

    A handler acquires one of the ``slots`` before it reads an upload.
    """

    database: Database[TransferTransaction]
    registry: Registry
    clock: Clock
    sheets: Sheets
    upkeep: Upkeep
    slots: TransferSlots = field(default_factory=TransferSlots)

    async def import_(
        self, write: Write, model: EntityModel, upload: BinaryIO, options: ImportOptions, may: FieldAccess
    ) -> WriteOutcome[Report]:
        """Store the file's rows and report; after many rows, renew the table's statistics.

        Raises ValidationError with the rows' errors if ``atomic`` is set.
        """
        related = related_columns(self.registry, model, self.registry.hidden_from(write.caller.rights))
        reading = ImportRequest(options, may, related)
        written = await self._import(write, model, upload, reading)
        if written.answer.imported >= ANALYZED_FROM and not written.is_replayed and not options.dry_run:
            await self._renew_statistics(model, written.answer)
        return written

    @stores_rows
    async def _import(
        self, write: Write, model: EntityModel, upload: BinaryIO, reading: ImportRequest
    ) -> WriteOutcome[Report]:
        options = reading.options
        key = key_field(model, options) if options.mode == "upsert" else None
        kept = tuple(field.name for field in model.declared if field.wire in reading.may.closed and field != key)
        act = write.act(self.clock.now())
        upload.seek(0)
        try:
            async with (
                self.sheets.read(model, upload, reading) as sheet,
                self.database.transaction(write.scope) as tx,
            ):
                if (replayed := await replayed_response(tx, write, Report, self.clock.now())) is not None:
                    return replayed
                loading = Loading(act, key, kept, self._rule(tx, model))
                loaded = await tx.transfers.load(model, sheet.rows(), loading)
                # Security: filter the database's errors, because it checks whole rows, including hidden fields.
                hidden = GuardedFields(model, self.registry).hidden_from(write.caller)
                told = [_told(error, hidden, reading.may) for error in loaded.errors]
                report = _report(sheet, loaded, told)
                await self._ensure_still_may(tx, write.caller)
                # A dry run does everything but the commit, for an exact report.
                if options.dry_run or (options.atomic and report.failed):
                    raise _RollBack(report)
                return await store_response(tx, write, report, self.clock.now())
        except _RollBack as rollback:
            if options.atomic and rollback.report.failed:
                raise _all_or_nothing(rollback.report) from None
            return WriteOutcome(rollback.report)

    def _rule(self, tx: TransferTransaction, model: EntityModel) -> RowRule | None:
        if not model.asks_other_rows:
            return None
        return partial(TransactionRows(tx.whole_records, self.registry, model.tenant_owned).broken_by_stored, model)

    async def _ensure_still_may(self, tx: TransferTransaction, caller: Caller) -> None:
        """Raises Unauthorized if the caller's token ended during the import; nothing is stored."""
        # Command line callers have no token.
        if not caller.issued:
            return
        if caller.expires_at and self.clock.now().timestamp() >= caller.expires_at:
            raise TokenExpired
        # A change of rights raises a version, so a check of the versions is enough. Check just before the commit.
        ensure_alive(caller.issued, await tx.token_versions.of(tuple(caller.issued)))

    async def _renew_statistics(self, model: EntityModel, report: Report) -> None:
        try:
            async with asyncio.timeout(LONGEST_ANALYSIS):
                await self.upkeep.analyze(model)
        # The rows are stored, so failed statistics do not fail the import.
        except Exception as error:
            log.warning(
                "The statistics of %s were not renewed after an import of %d rows (%s): autovacuum or tenantry clean "
                "will renew them.",
                model.plural,
                report.imported,
                type(error).__name__,
                exc_info=not isinstance(error, (ServiceUnavailable, TimeoutError)),
            )


def _told(error: RowError, hidden: frozenset[str], may: FieldAccess) -> RowError:
    """The error, without fields unknown to the caller or ``hidden`` from them."""
    # A broken rule concerns the whole row, including stored values, so remove only hidden fields.
    return error.without(hidden if isinstance(error, BrokenRow) else may.unknown)


def _report(sheet: ReadSheet, loaded: Loaded, refused: Sequence[RowError]) -> Report:
    # Sort by row, because the errors come from two lists: those of the file and those of the database.
    errors = sorted((*sheet.errors, *refused), key=lambda error: error.row)
    return Report(
        imported=loaded.imported,
        skipped=loaded.skipped,
        failed=sheet.failed + loaded.failed,
        errors=tuple(errors[:MOST_ERRORS]),
        skipped_rows=loaded.skipped_rows,
        header=sheet.header,
    )


def _all_or_nothing(report: Report) -> ValidationError:
    more = f", of which the first {len(report.errors)} are listed" if report.failed > len(report.errors) else ""
    faults = [RowFault(f"row {error.row}", error.message, error.row, error.details) for error in report.errors]
    return ValidationError(f"Nothing was stored: {report.failed} rows have errors{more}.", faults)
