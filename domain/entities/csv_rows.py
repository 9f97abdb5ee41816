"""CSV as RFC 4180 has it, with what its readers forget: an empty cell is null, ``""`` is empty text. Pure."""

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import islice

LONGEST_RECORD = 2 * 1024 * 1024
"""In characters; a quote that never ends must not swallow the file."""
csv.field_size_limit(LONGEST_RECORD)

Cells = list[str | None]


class BrokenCsv(Exception):
    """``row`` counts records from 1; the message goes on from it."""

    def __init__(self, row: int, message: str) -> None:
        self.row = row
        super().__init__(message)


def read_rows(lines: Iterable[str], delimiter: str = ",") -> Iterator[Cells]:
    """One list of cells per record, an empty one for a blank line. Raises BrokenCsv."""
    taken: list[str] = []
    row = 0
    try:
        for record in csv.reader(_taped(lines, taken), delimiter=delimiter, strict=True):
            row += 1
            yield _with_nulls(record, taken, delimiter) if "" in record else [*record]
            taken.clear()
    except csv.Error as error:
        raise BrokenCsv(row + 1, _plain(str(error))) from None


def _taped(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    """Leaves in ``taken`` the lines that the record in hand is made of."""
    length = 0
    for line in lines:
        length = length + len(line) if taken else len(line)
        if length > LONGEST_RECORD:
            raise csv.Error(f"is longer than {LONGEST_RECORD} characters; is a quote open?")
        taken.append(line)
        yield line


def _with_nulls(record: list[str], taken: list[str], delimiter: str) -> Cells:
    if '""' in taken[0] or len(taken) > 1:
        return _told_apart("".join(taken), record, delimiter)
    return [cell or None for cell in record]


def _told_apart(text: str, record: list[str], delimiter: str) -> Cells:
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
        return "has something behind a quoted cell that is no delimiter"
    if "unexpected end" in message:
        return "has a quote that never ends"
    return "cannot be read as CSV"


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def written(cells: Iterable[str | None]) -> str:
    """One line; every text in quotes, so that null is the only thing without."""
    return ",".join("" if cell is None else quoted(cell) for cell in cells) + "\n"
