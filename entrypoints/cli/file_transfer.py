"""``tenantry export`` and ``tenantry import``: the HTTP endpoints' use cases, with a progress bar."""

import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from application.entities.transfers.exports import FileExport
from application.entities.transfers.imports import FileImport, Report
from application.entities.writing import Write
from application.ports.entities.files import ImportRequest, ReadSheet, Sheets
from application.primary_reads import PrimaryReads
from domain.entities.bodies import EVERY_FIELD
from domain.entities.declaration import EntityModel, Registry
from domain.entities.files.options import read_options
from domain.entities.query.read_query import read_export
from domain.entities.sheets import FILE_FORMS, LARGEST_FILE, MOST_XLSX_ROWS, BuiltForm, Column, FileHeader, RowError
from domain.errors import unknown_name
from domain.scope import OneTenant
from entrypoints.assembly.adapters import open_adapters
from entrypoints.assembly.entities import load_registry
from entrypoints.cli.operator import operator, tenant_named
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import SETTINGS, CommandError, writing
from entrypoints.terminal.progress import progress_bar

MOST_NAMED = 20
PARQUET = (b"PAR1", b"PARE")
"""First and last bytes of a Parquet file; the second value marks an encrypted file, refused at reading."""


@dataclass(frozen=True)
class ExportJob:
    """Export to a file. ``parameters`` are a list's: filters, search, sort, fields, include."""

    plural: str
    tenant: str
    form: str
    out: Path
    parameters: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class ImportJob:
    plural: str
    tenant: str
    file: Path
    options: dict[str, object]


async def export_file(settings: Settings, job: ExportJob) -> str:
    """Export rows; return the text to print. The file appears under its name when it is complete."""
    registry = load_registry(settings.entities)
    model = _model(registry, job.plural)
    query = read_export(model, registry, frozenset(), job.parameters)
    async with open_adapters(settings, registry) as adapters:
        scope = OneTenant((await tenant_named(adapters, job.tenant)).id, sees_all=True)
        exporting = FileExport(PrimaryReads(adapters.database), registry, adapters.sheets)
        async with adapters.database.read_only(scope) as read:
            total = await read.transfers.count(model, query, MOST_XLSX_ROWS if job.form == "xlsx" else 2**31 - 1)
        pieces = exporting.pieces(scope, model, query, job.form)
        # The number of lines in a compressed format is not the number of rows, so show a bar without a total.
        with progress_bar("Exporting", total if FILE_FORMS[job.form].built is None else None) as tell:
            await _write(job.out, pieces, tell)
    return Answer(f"{job.out}: {total} {job.plural}.", {"file": job.out, "entity": job.plural, "rows": total})


async def _write(out: Path, pieces: AsyncIterator[bytes], tell: Callable[[int], None]) -> None:
    with _complete_or_absent(out) as write:
        async for piece in pieces:
            write(piece)
            tell(piece.count(b"\n"))


@contextmanager
def _complete_or_absent(out: Path) -> Iterator[Callable[[bytes], None]]:
    """Yield a function that writes a file, renamed to ``out`` on success. Raises CommandError."""
    remedy = "name a file in a folder that is there"
    part = out.with_name(f".{out.name}.part")
    with writing(out, remedy):
        # The file would replace a device or pipe.
        if out.exists() and not out.is_file():
            raise CommandError(f"{out} is no file, and nothing was written: name a file.", SETTINGS)
        file = part.open("wb")

    def write(piece: bytes) -> None:
        with writing(out, remedy):
            file.write(piece)

    try:
        yield write
        with writing(out, remedy):
            file.close()
            part.replace(out)
    finally:
        # The disk may still be full when close() writes the buffer.
        with suppress(OSError):
            file.close()
        part.unlink(missing_ok=True)


async def import_file(settings: Settings, job: ImportJob) -> str:
    """Import rows; return the text to print.

    Raises CommandError after storing the valid rows if others had errors, for the exit code.
    """
    registry = load_registry(settings.entities)
    model = _model(registry, job.plural)
    options = read_options(model, job.options)
    if job.file.stat().st_size > LARGEST_FILE:
        raise CommandError(f"{job.file} is larger than {LARGEST_FILE // 2**20} MiB: split it.")
    _ensure_as_named(job.file)
    async with open_adapters(settings, registry) as adapters:
        scope = OneTenant((await tenant_named(adapters, job.tenant)).id, sees_all=True)
        with job.file.open("rb") as given, tempfile.TemporaryFile() as upload:
            lines = _copied(given, upload)
            with progress_bar("Importing", lines) as tell:
                sheets = CountedRows(adapters.sheets, tell)
                importing = FileImport(adapters.database, registry, adapters.clock, sheets, adapters.upkeep)
                write = Write(caller=operator(None), scope=scope)
                written = await importing.import_(write, model, upload, options, EVERY_FIELD)
    return _summary(written.answer, is_dry=options.dry_run)


def _ensure_as_named(path: Path) -> None:
    """Raises CommandError for a false Parquet file: a damaged one would be read as CSV."""
    if path.suffix.lower() != ".parquet":
        return
    with path.open("rb") as file:
        start = file.read(len(PARQUET[0]))
        file.seek(-len(start), os.SEEK_END)
        end = file.read()
    if start not in PARQUET or end not in PARQUET:
        raise CommandError(
            f"{path} is no Parquet file, or a damaged one: it does not begin and end as one. Give a file of another"
            " format another name."
        )


def _copied(given: BinaryIO, upload: BinaryIO) -> int | None:
    """Copy the file and return its number of lines, or None for xlsx and Parquet."""
    # Copy, because the file could change during reading.
    lines, is_text = 0, True
    while piece := given.read(1024 * 1024):
        is_text = is_text and (upload.tell() > 0 or not piece.startswith((b"PK", b"PAR1")))
        upload.write(piece)
        lines += piece.count(b"\n")
    upload.flush()
    return lines if is_text else None


def _summary(report: Report, *, is_dry: bool) -> str:
    """Text of the report. Raises CommandError if rows had errors."""
    would = "would be " if is_dry else ""
    text = f"{report.imported} rows {would}imported, {report.skipped} skipped, {report.failed} with errors."
    text = "\n".join([text, *_suggested(report)])
    if not report.failed:
        return Answer(text, report)
    named = [f"  row {error.row}: {error.message}" for error in report.errors[:MOST_NAMED]]
    more = [f"  and {report.failed - len(named)} more"] if report.failed > len(named) else []
    raise CommandError("\n".join([text, *named, *more]), data=report)


def _suggested(report: Report) -> Iterator[str]:
    """Line with the options that a dry run found to fit better."""
    if report.header is None:
        return
    found = report.header.suggested
    options = {"encoding": found.encoding, "decimal": found.decimal, "header-row": found.header_row}
    given = [f"--{name} {value}" for name, value in options.items() if value is not None]
    given += [f"--date-format {' or '.join(found.date_formats)}"] if found.date_formats else []
    if given:
        yield f"The file seems to need {', '.join(given)}."


def _model(registry: Registry, plural: str) -> EntityModel:
    if plural not in registry.models:
        raise CommandError(f"{plural} {unknown_name(plural, registry.models)}.")
    return registry[plural]


@dataclass(frozen=True)
class CountedRows:
    """Sheets that report the number of read rows to ``tell``."""

    sheets: Sheets
    tell: Callable[[int], None]

    @asynccontextmanager
    async def read(self, model: EntityModel, upload: BinaryIO, reading: ImportRequest) -> AsyncIterator[ReadSheet]:
        async with self.sheets.read(model, upload, reading) as sheet:
            yield CountedSheet(sheet, self.tell)

    def write(
        self, columns: Sequence[Column], rows: AsyncIterator[bytes], form: BuiltForm
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self.sheets.write(columns, rows, form)


@dataclass(frozen=True)
class CountedSheet:
    sheet: ReadSheet
    tell: Callable[[int], None]

    @property
    def header(self) -> FileHeader | None:
        return self.sheet.header

    @property
    def failed(self) -> int:
        return self.sheet.failed

    @property
    def errors(self) -> Sequence[RowError]:
        return self.sheet.errors

    async def rows(self) -> AsyncIterator[bytes]:
        async for piece in self.sheet.rows():
            self.tell(piece.count(b"\n"))
            yield piece
