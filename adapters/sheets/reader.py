"""Worker that reads an uploaded file, validates its rows like a JSON body, and returns them for the database.

``python -m adapters.sheets.reader DESCRIPTOR`` reads its job as a line from standard input.
"""

import os
import re
import resource
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import BinaryIO

import msgspec

from adapters.sheets.csv_text import read_csv
from adapters.sheets.declarations import model_of
from adapters.sheets.frames import DONE, ERRORS, LOADED, READY, REFUSED, ROWS, Errors, ReadJob, refusal_of, send
from adapters.sheets.row_text import RowText
from adapters.sheets.table import BadRow, Table
from domain.entities.declaration import EntityModel
from domain.entities.files.csv_rows import Cells
from domain.entities.files.file_headers import (
    MOST_SHEETS,
    ensure_key,
    fields_by_title,
    nameless_places,
    read_header,
    shown_columns,
    shown_name,
    version_place,
)
from domain.entities.files.options import ImportOptions
from domain.entities.files.suggestions import FIRST_ROWS, Suggested, header_row_of, known_names, spelling_of
from domain.entities.sheets import MOST_ERRORS, FileHeader, RowError, ensure_row_count
from domain.errors import BadRequest, Error, ValidationError

AT_A_TIME = 500
NICENESS = 5  # requests have priority
MOST_SPACE = 2 * 1024**3
"""Address space of the process: a last resort, for files within all other limits."""
MOST_MEMORY = 192 * 1024**2
"""Data segment of the process."""
MOST_PARQUET_MEMORY = 200 * 1024**2
"""Data segment for a Parquet file with pages that state their own size: 50 MiB in a single row group need 185 MiB,
including polars.
"""
MOST_SECONDS = 120
"""CPU seconds of the process: several times the need of the largest file with an error in each row."""
MOST_LOOKED_AT = 1024 * 1024
"""Characters of the rows that a dry run looks at before it reads the others."""
OTHER_ENCODING = "windows-1252"
"""The one to suggest for text that is no UTF-8: of a spreadsheet in a Western language."""
_ZIP, _OLD, _PARQUET = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", (b"PAR1", b"PARE")
_TOLD_BY = 8
_TEXT = re.compile(rb"[\t\n\r -~\x80-\xff]*")


def main() -> None:
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_SPACE, MOST_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    with open(os.dup(int(sys.argv[1])), "rb") as file:  # noqa: PTH123  # a descriptor has no path
        is_parquet = _is_parquet(file)
    # Limit the data, not the address space: a library may reserve much and use little.
    memory = MOST_PARQUET_MEMORY if is_parquet else MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    job = msgspec.json.decode(sys.stdin.buffer.readline(), type=ReadJob)
    out = sys.stdout.buffer
    # If the file with the entity's declaration has an error, the process ends here, so that the service does not blame
    # the uploaded file.
    model = model_of(job.entity)
    with open(int(sys.argv[1]), "rb") as file, suppress(BrokenPipeError):  # noqa: PTH123  # a descriptor has no path
        send(out, LOADED)
        try:
            read(file, model, job, out)
        except Error as error:
            send(out, REFUSED, refusal_of(error))
        except MemoryError:
            send(out, REFUSED, refusal_of(BadRequest("The file needs too much memory to be read.")))


def _is_parquet(file: BinaryIO) -> bool:
    """Return whether the file looks like Parquet and is not text, such as a column PARENT."""
    file.seek(0)
    start = file.read(_TOLD_BY)
    file.seek(-min(_TOLD_BY, file.seek(0, os.SEEK_END)), os.SEEK_END)
    # The length of the footer, and the magic bytes again.
    length, end = (tail := file.read())[:-4], tail[-4:]
    file.seek(0)
    begins, ends = start.startswith(_PARQUET), end in _PARQUET
    is_text = _TEXT.fullmatch(start + (length if ends else b""))
    return (begins and ends) or ((begins or ends) and not is_text)


def read(file: BinaryIO, model: EntityModel, job: ReadJob, out: BinaryIO) -> None:
    """Write the frames READY, ROWS…, ERRORS and DONE. Raises Error for an unreadable file.

    For a dry run, the body of READY is the header, and an error in the header becomes an error of the header's row.
    """
    table = _table(file, model, job.options)
    number, names = _header(table, job.options)
    first: list[tuple[int, Cells | BadRow]] = []
    try:
        if isinstance(names, BadRow):
            raise ValidationError(names.message)
        fields = read_header(model, names, job.options.columns, job.may, job.related)
        ensure_key(model, fields, job.options)
        if job.options.dry_run:
            # Read the first rows before READY: a Parquet file reports wrong column types with its first row.
            first = _beginning(table.rows)
    except ValidationError as error:
        if not job.options.dry_run:
            raise
        with suppress(ValidationError):
            # Only for what is shown and suggested.
            deque(islice(table.rows, FIRST_ROWS), maxlen=0)
        send(out, READY, _shown(table, number, names, model, job, is_wrong=True))
        _send_end(out, 1, [RowError.on(number, error.fields) if error.fields else RowError(number, error.message)])
        return
    send(out, READY, _shown(table, number, names, model, job) if job.options.dry_run else b"")
    version = version_place(names, job.options.columns)
    nameless = nameless_places(names, job.options.columns)
    writer = RowText(model, fields, job, is_text=table.is_text, version=version, nameless=nameless)
    _send_rows(out, model, chain(first, table.rows), writer)


def _beginning(rows: Iterator[tuple[int, Cells | BadRow]]) -> list[tuple[int, Cells | BadRow]]:
    """The rows that are looked at before the others, of which few may be long."""
    taken: list[tuple[int, Cells | BadRow]] = []
    size = 0
    for number, row in islice(rows, FIRST_ROWS):
        taken.append((number, row))
        size += 0 if isinstance(row, BadRow) else sum(len(cell) for cell in row if cell)
        if size > MOST_LOOKED_AT:
            break
    return taken


def _header(table: Table, options: ImportOptions) -> tuple[int, Cells | BadRow]:
    """Number and cells of the header, for a dry run also of one with other errors than broken CSV.

    Raises BadRequest for a file without a header.
    """
    header = next(table.rows, None)
    if options.header_row is not None and (header is None or header[0] != options.header_row):
        raise ValidationError.on("options.headerRow", "is the number of an empty row, or of none")
    if header is None:
        raise BadRequest("The file is empty: its first row names the columns.")
    number, cells = header
    if isinstance(cells, BadRow) and (cells.cells is None or not options.dry_run):
        raise BadRequest(f"Row {number} {cells.message}")
    return number, cells


def _shown(
    table: Table, number: int, header: Cells | BadRow, model: EntityModel, job: ReadJob, *, is_wrong: bool = False
) -> bytes:
    names = (header.cells or []) if isinstance(header, BadRow) else header
    options = job.options
    rows = [cells for _, cells in table.first[1:]]
    fields = fields_by_title(model, names, options.columns)
    decimal, date_formats = spelling_of(fields, rows, options, is_text=table.is_text)
    known = known_names(model, options, job.may) if is_wrong and options.header_row is None else frozenset[str]()
    suggested = Suggested(
        encoding=OTHER_ENCODING if table.is_other_encoding else None,
        decimal=decimal,
        date_formats=date_formats,
        header_row=header_row_of(known, table.first),
    )
    shown = FileHeader(
        row=number,
        columns=shown_columns(model, names, options.columns, job.may, rows),
        suggested=suggested,
        sheets=tuple(map(shown_name, table.sheets[:MOST_SHEETS])),
        sheet=None if table.sheet is None else shown_name(table.sheet),
    )
    return msgspec.json.encode(shown)


def _send_rows(out: BinaryIO, model: EntityModel, rows: Iterator[tuple[int, Cells | BadRow]], writer: RowText) -> None:
    failed, errors = 0, list[RowError]()
    lines: list[str] = []
    for count, (number, cells) in enumerate(rows, start=1):
        ensure_row_count(model, count)
        found = (
            RowError(number, cells.message, cells.details)
            if isinstance(cells, BadRow)
            else writer.line(number, cells, explains=failed < MOST_ERRORS)
        )
        if isinstance(found, str):
            lines.append(found)
        else:
            failed += 1
            errors += [found] if failed <= MOST_ERRORS else []
        if len(lines) == AT_A_TIME:
            send(out, ROWS, "".join(lines).encode())
            lines = []
    if lines:
        send(out, ROWS, "".join(lines).encode())
    _send_end(out, failed, errors)


def _send_end(out: BinaryIO, failed: int, errors: Sequence[RowError]) -> None:
    send(out, ERRORS, msgspec.json.encode(Errors(failed, tuple(errors))))
    send(out, DONE)


def _table(file: BinaryIO, model: EntityModel, options: ImportOptions) -> Table:
    # Detect the format by content: the caller chooses the name.
    start = file.read(8)
    if start.startswith(_OLD):
        raise BadRequest("The file is encrypted, or of a format before xlsx: save it as xlsx, without a password.")
    if start.startswith(_ZIP):
        from adapters.sheets.xlsx.rows import read_xlsx  # import late: the serving process never reads xlsx

        return read_xlsx(file, model, options)
    if options.time_zone is not None:
        raise ValidationError.on("options.timeZone", "is for xlsx; a time in this file names its zone itself")
    if _is_parquet(file):
        from adapters.sheets.parquet import read_parquet  # the import needs a third of a second

        return read_parquet(file, model, options)
    if options.sheet is not None:
        raise ValidationError.on("options.sheet", "is for xlsx; this file is text")
    return read_csv(file, model, options)


if __name__ == "__main__":
    main()
