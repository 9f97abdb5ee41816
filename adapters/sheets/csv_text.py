"""Cells of a CSV file. Encoding and delimiter come from the options, or are detected."""

import codecs
from collections.abc import Iterator
from contextlib import suppress
from io import TextIOWrapper
from typing import BinaryIO

from domain.entities.csv_rows import BrokenCsv, Cells, read_rows
from domain.entities.declaration import EntityModel
from domain.entities.sheets import ImportOptions
from domain.errors import BadRequest, ValidationError

LONGEST_LINE = 1024 * 1024
_MARKS = (
    # UTF-32 before UTF-16: its mark begins with that of UTF-16.
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DELIMITERS = ",;\t|"


def read_csv(file: BinaryIO, model: EntityModel, options: ImportOptions) -> Iterator[tuple[int, Cells]]:
    """Rows with their numbers, blank lines left out. Raises BadRequest, ValidationError for an unknown encoding."""
    encoding = _encoding(file, options)
    delimiter = options.delimiter or _delimiter(file, encoding, model, options)
    file.seek(0)
    number = 0
    try:
        for number, cells in enumerate(read_rows(_lines(file, encoding), delimiter), start=1):
            if cells:
                yield number, cells
    except BrokenCsv as error:
        raise BadRequest(f"Row {error.row} {error}.") from None
    except UnicodeError:
        raise BadRequest(
            f"After row {number} there are bytes that are no {encoding}: the option encoding names the right one."
        ) from None


def _lines(file: BinaryIO, encoding: str) -> Iterator[str]:
    text = TextIOWrapper(file, encoding=encoding, errors="strict", newline="")
    try:
        while line := text.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise BadRequest(f"A line is longer than {LONGEST_LINE} characters.")
            yield line
    finally:
        # Detached, or the wrapper would close the caller's file; the caller may have closed it already.
        with suppress(ValueError):
            text.detach()


def _encoding(file: BinaryIO, options: ImportOptions) -> str:
    file.seek(0)
    start = file.read(4)
    marked = next((name for mark, name in _MARKS if start.startswith(mark)), None)
    if options.encoding is None:
        return marked or _unmarked(start)
    try:
        name = codecs.lookup(options.encoding).name
        "a".encode(name)  # some codecs, such as base64, do not encode text
    except (LookupError, UnicodeError, ValueError):
        raise ValidationError.on("options.encoding", "is no text encoding that is known here") from None
    return marked if marked and marked.startswith(name) else name


def _unmarked(start: bytes) -> str:
    """Encoding of a file without byte order mark, by its first four bytes."""
    # A header begins with ASCII characters: in UTF-16 every second byte of theirs is zero.
    if len(start) == 4 and start[1] == 0 == start[3] and start[0]:
        return "utf-16-le"
    if len(start) == 4 and start[0] == 0 == start[2] and start[1]:
        return "utf-16-be"
    return "utf-8"


def _delimiter(file: BinaryIO, encoding: str, model: EntityModel, options: ImportOptions) -> str:
    """Delimiter with which the header has the most names of fields."""
    known = {field.wire.lower() for field in model.fields} | {name.strip().lower() for name in options.columns}
    best, most = ",", 0
    for delimiter in _DELIMITERS:
        file.seek(0)
        try:
            header = next(read_rows(_lines(file, encoding), delimiter), [])
        except (BrokenCsv, UnicodeError):
            continue
        found = sum((name or "").strip().lower() in known for name in header)
        if found > most:
            best, most = delimiter, found
    return best
