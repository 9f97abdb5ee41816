"""Cells of a CSV file. Encoding and delimiter come from the options, or are detected."""

import codecs
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import TextIOWrapper
from itertools import islice
from typing import BinaryIO

from adapters.sheets.table import BadRow, Table
from domain.entities.csv_rows import BrokenCsv, Cells, read_rows
from domain.entities.declaration import EntityModel
from domain.entities.file_headers import SAMPLE_ROWS
from domain.entities.sheets import ImportOptions
from domain.errors import BadRequest, ValidationError

LONGEST_LINE = 1024 * 1024
_USUAL, _USUAL_MARKED = "utf-8", "utf-8-sig"
_MARKS = (
    # UTF-32 before UTF-16: its mark begins with that of UTF-16.
    (codecs.BOM_UTF8, _USUAL_MARKED),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DELIMITERS = ",;\t|"
_SEPARATOR = re.compile(r'"?sep=([^\r\n])"?[\r\n]*', re.IGNORECASE)
"""First line by which Excel is told the delimiter."""
MOST_READ_AGAIN = 16 * 1024 * 1024
"""Characters of broken rows that are read a second time: the lines of a quote that never ends."""
_MARK = "\ufeff"
_ZERO = b"\0"
_TEXT = re.compile(rb"[\t\f -~\x80-\xff]*")
_OTHERS = re.compile(rb"%PDF-|\x89PNG|GIF8|(\xef\xbb\xbf)?\s*(\[\s*[\[{]|\{\s*\")")
"""First bytes of PDF, images and JSON that could be text."""
_BAD_BYTES = "tenantry-bad-bytes"
_BAD = "\udcff"
"""Character for bytes that are no text: a half of a pair, which no text has."""
codecs.register_error(_BAD_BYTES, lambda error: (_BAD, error.end) if isinstance(error, UnicodeDecodeError) else ("", 0))


def read_csv(file: BinaryIO, model: EntityModel, options: ImportOptions) -> Table:
    """The table, blank lines left out. Raises BadRequest, ValidationError for an unknown encoding."""
    samples: list[Cells] = []
    return Table(_sampled(_rows(file, model, options), samples), samples, is_escaped=True)


def _sampled(rows: Iterator[tuple[int, Cells | BadRow]], samples: list[Cells]) -> Iterator[tuple[int, Cells | BadRow]]:
    yield from islice(rows, 1)  # the header
    for number, cells in islice(rows, SAMPLE_ROWS):
        if not isinstance(cells, BadRow):
            samples.append(cells)
        yield number, cells
    yield from rows


def _rows(file: BinaryIO, model: EntityModel, options: ImportOptions) -> Iterator[tuple[int, Cells | BadRow]]:
    encoding = _encoding(file, options)
    if options.encoding is None and encoding in (_USUAL, _USUAL_MARKED):
        _ensure_text(file)
    file.seek(0)
    hint_line = _SEPARATOR.fullmatch(next(_lines(file, encoding), ""))
    delimiter = options.delimiter or (hint_line and hint_line[1]) or _delimiter(file, encoding, model, options)
    file.seek(0)
    hint = f"has bytes that are no {encoding}: the option encoding names the right one"
    for number, row in enumerate(_records(_lines(file, encoding), delimiter), start=1):
        if hint_line is not None and number == 1:
            continue
        if isinstance(row, BadRow):
            yield number, row
        elif row and _BAD in "".join(filter(None, row)):
            yield number, BadRow(hint)
        # a row of delimiters alone is blank, as one of empty cells is in a workbook
        elif any(cell is not None for cell in row):
            yield number, row


def _records(lines: Iterator[str], delimiter: str) -> Iterator[Cells | BadRow]:
    """Cells of each record. A record that is no CSV is its first line, and the next one is read as a new record."""
    source, read_again = _Lines(lines), 0
    while True:
        try:
            for cells in read_rows(source, delimiter):
                # What was taken for a part of a broken record may begin within a quoted text.
                yield BadRow(_REST) if source.is_rest_of_broken() else cells
                source.taken.clear()
        except BrokenCsv as error:
            yield BadRow(_OPEN_QUOTE if len(error.lines) > 1 else str(error))
            read_again += sum(map(len, error.lines[1:]))
            if read_again > MOST_READ_AGAIN:
                raise BadRequest("The file has too many rows whose quotes never end.") from None
            source.give_back(error.lines[1:])
        else:
            return


_OPEN_QUOTE = "has a quote that never ends, or something behind the one that ends it"
_REST = "has the end of a quoted text that began in a row before"


class _Lines:
    """Lines of a file, some of which are read again; ``taken`` are those of the current record."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._again: deque[str] = deque()
        self.taken: list[str] = []
        self._is_read_again = False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        self._is_read_again = bool(self._again)
        line = self._again.popleft() if self._again else next(self._lines)
        self.taken.append(line)
        return line

    def give_back(self, lines: Sequence[str]) -> None:
        self._again.extendleft(reversed(lines))
        self.taken.clear()

    def is_rest_of_broken(self) -> bool:
        """Whether the record is one line of a broken record with a quote that has no partner."""
        return self._is_read_again and len(self.taken) == 1 and self.taken[0].count('"') % 2 == 1


def _lines(file: BinaryIO, encoding: str) -> Iterator[str]:
    text = TextIOWrapper(file, encoding=encoding, errors=_BAD_BYTES, newline="")
    try:
        is_first = True
        while line := text.readline(LONGEST_LINE):
            if is_first:
                # A program may write the byte order mark although the text has one already.
                line, is_first = line.lstrip(_MARK), False
            if len(line) == LONGEST_LINE:
                raise BadRequest(f"A line is longer than {LONGEST_LINE} characters.")
            yield line
    except UnicodeError:
        # Codecs such as idna refuse bytes in ways of their own, which no error handler is asked about.
        raise BadRequest(f"The file is no {encoding}: the option encoding names the right one.") from None
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
    # utf-16-le with a mark is utf-16: the mark is no part of the first name
    if marked and name.startswith(marked.removesuffix("-sig")):
        return marked
    # without a mark the codecs of these names take nothing: the order of the bytes is told by the first of them
    return f"{name}-{'be' if start[:1] == _ZERO else 'le'}" if name in ("utf-16", "utf-32") else name


def _unmarked(start: bytes) -> str:
    """Encoding of a file without byte order mark, by its first four bytes."""
    # A header begins with ASCII characters: in UTF-16 every second byte of theirs is zero.
    if len(start) == 4 and start[1] == 0 == start[3] and start[0]:
        return "utf-16-le"
    if len(start) == 4 and start[0] == 0 == start[2] and start[1]:
        return "utf-16-be"
    return _USUAL


def _ensure_text(file: BinaryIO) -> None:
    """Raises BadRequest where the header has bytes that no text has: they would be told as names of columns."""
    file.seek(0)
    start = file.read(LONGEST_LINE)
    if _OTHERS.match(start):
        raise BadRequest("The file is neither CSV, xlsx nor Parquet: it begins as another format does.")
    header = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    if not _TEXT.fullmatch(header):
        raise BadRequest("The file is neither CSV, xlsx nor Parquet: it begins with bytes that no text has.")


def _delimiter(file: BinaryIO, encoding: str, model: EntityModel, options: ImportOptions) -> str:
    """Delimiter with which the header has the most names of fields, and the most columns where none names a field."""
    known = {field.wire.lower() for field in model.fields} | {name.strip().lower() for name in options.columns}
    best, most = ",", (0, 0)
    for delimiter in _DELIMITERS:
        file.seek(0)
        try:
            header = next(filter(any, read_rows(_lines(file, encoding), delimiter)), [])
        except (BrokenCsv, BadRequest):
            continue
        found = (sum((name or "").strip().lower() in known for name in header), len(header))
        if found > most:
            best, most = delimiter, found
    return best
