"""CSV as in RFC 4180, with a distinction that Python's reader lacks: an empty cell is null, ``""`` is empty text."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

# Otherwise an unclosed quote would read the whole file into one record.
LONGEST_RECORD = 2 * 1024 * 1024
"""Maximum characters of a record."""
# Python's limit of 128 kB per cell would refuse long texts.
csv.field_size_limit(LONGEST_RECORD)

Cells = list[str | None]


class BrokenCsv(Exception):
    """The file is not CSV; ``row`` counts records from 1, the message completes "row 7 …".

    ``lines`` are the record's lines.
    """

    def __init__(self, row: int, message: str, lines: Sequence[str] = ()) -> None:
        self.row, self.lines = row, lines
        super().__init__(message)


def read_rows(lines: Iterable[str], delimiter: str = ",") -> Iterator[Cells]:
    """Yield the cells of each record, None for null; an empty list for a blank line. Raises BrokenCsv.

    Example: the line ``a,,""`` gives ``["a", None, ""]``.
    """
    lines_read: list[str] = []
    row = 0
    try:
        for record in csv.reader(_recording(lines, lines_read), delimiter=delimiter, strict=True):
            row += 1
            yield _nulls_restored(record, lines_read, delimiter) if "" in record else [*record]
            lines_read.clear()
    except csv.Error as error:
        raise BrokenCsv(row + 1, _plain(str(error)), lines_read) from None


def _recording(lines: Iterable[str], lines_read: list[str]) -> Iterator[str]:
    # ``lines_read`` stores the current record: csv.reader does not report whether a cell was quoted.
    length = 0
    for line in lines:
        length = length + len(line) if lines_read else len(line)
        lines_read.append(line)
        if length > LONGEST_RECORD:
            raise csv.Error(f"is longer than {LONGEST_RECORD} characters; is a quote open?")
        yield line


def _nulls_restored(record: list[str], lines_read: list[str], delimiter: str) -> Cells:
    # Parse a record twice only for empty quoted cells or line breaks in cells.
    if '""' in lines_read[0] or len(lines_read) > 1:
        return _nulls_of_quoted("".join(lines_read), record, delimiter)
    return [cell or None for cell in record]


def _nulls_of_quoted(text: str, record: list[str], delimiter: str) -> Cells:
    found = _cells(delimiter).finditer(text)
    is_quoted = [match.group(1) is not None for match in islice(found, len(record))]
    return [cell if cell or quoted else None for cell, quoted in zip(record, is_quoted, strict=True)]


def _cells(delimiter: str) -> re.Pattern[str]:
    end = re.escape(delimiter)
    return re.compile(rf'(?:("(?:[^"]++|"")*+")|[^{end}\r\n]*+)(?:{end}|\r\n|\r|\n|\Z)')


def _plain(message: str) -> str:
    if message.startswith("is longer"):
        return message
    if "expected after" in message:
        return "has text between a quoted cell and the next delimiter"
    if "unexpected end" in message:
        return "has a quote that never ends"
    return "cannot be read as CSV"


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def written(cells: Iterable[str | None]) -> str:
    """Return a CSV line with every text in quotes: an unquoted empty cell is always null."""
    return ",".join("" if cell is None else quoted(cell) for cell in cells) + "\n"


def exported_line(cells: Iterable[str | None]) -> str:
    """Return a line as in PostgreSQL's COPY, without line break: quotes only where needed, and for empty text."""
    return ",".join("" if cell is None else _exported(cell) for cell in cells)


def _exported(cell: str) -> str:
    return quoted(cell) if not cell or any(sign in cell for sign in ',"\r\n') else cell
