"""Cells of a CSV file. Encoding and delimiter come from the options, or are detected."""

import codecs
import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from io import TextIOWrapper
from itertools import islice
from typing import BinaryIO

from adapters.sheets.table import BadRow, Table
from domain.entities.bodies import EVERY_FIELD
from domain.entities.declaration import EntityModel
from domain.entities.files.csv_rows import BrokenCsv, Cells, read_rows
from domain.entities.files.options import ImportOptions
from domain.entities.files.suggestions import FIRST_ROWS, HEADER_ROWS, known_names
from domain.errors import BadRequest, ValidationError

LONGEST_LINE = 1024 * 1024
_USUAL, _USUAL_MARKED = "utf-8", "utf-8-sig"
_MARKS = (
    # Check UTF-32 first: its byte order mark begins with the mark of UTF-16.
    (codecs.BOM_UTF8, _USUAL_MARKED),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DELIMITERS = ",;\t|"
_SEPARATOR = re.compile(r'"?sep=([^\r\n])"?[\r\n]*', re.IGNORECASE)
"""First line with the delimiter for Excel."""
MOST_READ_AGAIN = 16 * 1024 * 1024
"""Maximum characters of broken rows read again: the lines after an unclosed quote."""
_MARK = "\ufeff"
_ZERO = b"\0"
_TEXT = re.compile(rb"[\t\f -~\x80-\xff]*")
_OTHERS = re.compile(rb"%PDF-|\x89PNG|GIF8|(\xef\xbb\xbf)?\s*(\[\s*[\[{]|\{\s*\")")
"""First bytes of PDF, images and JSON, which could be text."""
_BAD_BYTES = "tenantry-bad-bytes"
_BAD = "\udcff"
"""Character for undecodable bytes: half of a surrogate pair, absent from valid text."""
codecs.register_error(_BAD_BYTES, lambda error: (_BAD, error.end) if isinstance(error, UnicodeDecodeError) else ("", 0))


def read_csv(file: BinaryIO, model: EntityModel, options: ImportOptions) -> Table:
    """Read the table without blank lines. Raises BadRequest, ValidationError for an unknown encoding."""
    encoding = _encoding(file, options)
    is_usual = options.encoding is None and encoding in (_USUAL, _USUAL_MARKED)
    if is_usual:
        _ensure_text(file)
    is_other = options.dry_run and is_usual and not _is_utf8(file)
    table = Table(_rows(file, encoding, model, options), is_text=True, is_other_encoding=is_other)
    table.rows = _noted(table, table.rows)
    return table


def _noted(table: Table, rows: Iterator[tuple[int, Cells | BadRow]]) -> Iterator[tuple[int, Cells | BadRow]]:
    for number, row in islice(rows, FIRST_ROWS):
        table.note(number, row)
        yield number, row
    yield from rows


def _rows(
    file: BinaryIO, encoding: str, model: EntityModel, options: ImportOptions
) -> Iterator[tuple[int, Cells | BadRow]]:
    file.seek(0)
    hint_line = _SEPARATOR.fullmatch(next(_lines(file, encoding), ""))
    delimiter = options.delimiter or (hint_line and hint_line[1]) or _delimiter(file, encoding, model, options)
    file.seek(0)
    source, first = _Lines(_lines(file, encoding)), options.header_row or (2 if hint_line else 1)
    width = 0
    for number, row in enumerate(_records(source, delimiter), start=1):
        if number < first:
            continue
        if isinstance(row, BadRow):
            yield number, row
            continue
        # A row of only delimiters is blank.
        if not any(cell is not None for cell in row):
            continue
        width = width or len(row)
        if source.is_read_again and len(row) != width:
            raise BadRequest(f"Row {number} follows a quote that never ends: it has {len(row)} of {width} cells.")
        yield number, _with_good_bytes(row, encoding)


def _with_good_bytes(row: Cells, encoding: str) -> Cells | BadRow:
    if _BAD not in "".join(filter(None, row)):
        return row
    return BadRow(f"has bytes that are not {encoding}: name the right encoding in the option encoding", cells=row)


def _records(source: "_Lines", delimiter: str) -> Iterator[Cells | BadRow]:
    """Yield the cells of each record; invalid CSV ends a record after its first line."""
    read_again = 0
    while True:
        try:
            for cells in read_rows(source, delimiter):
                # The rest of a broken record may begin within quotes.
                yield BadRow(_REST) if source.is_rest_of_broken() else cells
                source.taken.clear()
        except BrokenCsv as error:
            yield BadRow(_OPEN_QUOTE if len(error.lines) > 1 else str(error))
            read_again += sum(map(len, error.lines[1:]))
            if read_again > MOST_READ_AGAIN:
                raise BadRequest("The file has too many rows with quotes that never end.") from None
            source.give_back(error.lines[1:])
        else:
            return


_OPEN_QUOTE = "has a quote that never ends, or something behind the one that ends it"
_REST = "contains the end of a quoted text that began in an earlier row: check the quotes"


class _Lines:
    """Lines of a file, some of them read again; ``taken`` are the lines of the current record."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._again: deque[str] = deque()
        self.taken: list[str] = []
        self.is_read_again = False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        self.is_read_again = bool(self._again)
        line = self._again.popleft() if self._again else next(self._lines)
        self.taken.append(line)
        return line

    def give_back(self, lines: Sequence[str]) -> None:
        self._again.extendleft(reversed(lines))
        self.taken.clear()

    def is_rest_of_broken(self) -> bool:
        """Return whether the record is one line of a broken record with an unmatched quote."""
        return self.is_read_again and len(self.taken) == 1 and self.taken[0].count('"') % 2 == 1


def _lines(file: BinaryIO, encoding: str) -> Iterator[str]:
    text = TextIOWrapper(file, encoding=encoding, errors=_BAD_BYTES, newline="")
    try:
        is_first = True
        while line := text.readline(LONGEST_LINE):
            if is_first:
                # A program may write a second byte order mark.
                line, is_first = line.lstrip(_MARK), False
            if len(line) == LONGEST_LINE:
                raise BadRequest(f"A line is longer than {LONGEST_LINE} characters.")
            yield line
    except UnicodeError:
        # Codecs such as idna refuse bytes without calling the error handler.
        raise BadRequest(f"The file is not {encoding}: name the right encoding in the option encoding.") from None
    finally:
        # Detach: the wrapper would close the caller's file. The caller may have closed it already.
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
        raise ValidationError.on("options.encoding", "is not a known text encoding") from None
    # utf-16-le with a byte order mark is utf-16: the mark does not belong to the first column name.
    if marked and name.startswith(marked.removesuffix("-sig")):
        return marked
    # Without a byte order mark, the codecs utf-16 and utf-32 accept nothing. The first byte shows the byte order.
    return f"{name}-{'be' if start[:1] == _ZERO else 'le'}" if name in ("utf-16", "utf-32") else name


def _unmarked(start: bytes) -> str:
    """Encoding of a file without byte order mark."""
    # A header begins with ASCII characters: in UTF-16 every second byte is zero.
    if len(start) == 4 and start[1] == 0 == start[3] and start[0]:
        return "utf-16-le"
    if len(start) == 4 and start[0] == 0 == start[2] and start[1]:
        return "utf-16-be"
    return _USUAL


def _ensure_text(file: BinaryIO) -> None:
    """Raise BadRequest for a binary header; otherwise errors would show binary data as column names."""
    file.seek(0)
    start = file.read(LONGEST_LINE)
    if _OTHERS.match(start):
        raise BadRequest("The file is neither CSV, xlsx nor Parquet: it begins as another format does.")
    header = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    if not _TEXT.fullmatch(header):
        raise BadRequest("The file is neither CSV, xlsx nor Parquet: it begins with bytes that no text has.")


def _is_utf8(file: BinaryIO) -> bool:
    decoder = codecs.getincrementaldecoder(_USUAL)()
    file.seek(0)
    try:
        while piece := file.read(LONGEST_LINE):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _delimiter(file: BinaryIO, encoding: str, model: EntityModel, options: ImportOptions) -> str:
    """Delimiter with which the header has the most names of fields, and the most columns where none names a field.

    Where the first row names no field, the rows behind it are asked: one of them may be the header.
    """
    known = known_names(model, options, EVERY_FIELD)
    best = _DELIMITERS[0]
    for most_rows in (1, HEADER_ROWS):
        found: dict[str, tuple[int, int]] = {}
        for delimiter in _DELIMITERS:
            file.seek(0)
            records = islice(_records(_Lines(_lines(file, encoding)), delimiter), (options.header_row or 1) - 1, None)
            found[delimiter] = _named(records, known, most_rows)
        best = max(found, key=lambda delimiter: found[delimiter])
        if found[best][0]:
            break
    return best


def _named(records: Iterator[Cells | BadRow], known: Collection[str], most_rows: int) -> tuple[int, int]:
    """Most known names in one of the first rows, and the columns of the very first."""
    named, width = 0, 0
    with suppress(BadRequest):
        rows = (row for row in records if not isinstance(row, BadRow) and any(row))
        for row in islice(rows, most_rows):
            named = max(named, sum((name or "").strip().lower() in known for name in row))
            width = width or len(row)
    return named, width
