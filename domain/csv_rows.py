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


class _Tape:
    """The lines of a file, remembering those that the record in hand was made of."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._taken: list[str] = []
        self._length = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._length += len(line)
        if self._length > LONGEST_RECORD:
            raise csv.Error(f"is longer than {LONGEST_RECORD} characters; is a quote open?")
        self._taken.append(line)
        return line

    def record(self) -> list[str]:
        taken, self._taken, self._length = self._taken, [], 0
        return taken


def read_rows(lines: Iterable[str], delimiter: str = ",") -> Iterator[Cells]:
    """One list of cells per record, an empty one for a blank line. Raises BrokenCsv."""
    tape, row = _Tape(lines), 0
    records = csv.reader(tape, delimiter=delimiter, strict=True)
    while True:
        row += 1
        try:
            record = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            raise BrokenCsv(row, _plain(str(error))) from None
        taken = tape.record()
        if '""' in taken[0] or len(taken) > 1:
            yield _told_apart("".join(taken), record, delimiter)
        else:
            yield [cell or None for cell in record]


def _told_apart(text: str, record: list[str], delimiter: str) -> Cells:
    if "" not in record:
        return [*record]
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
