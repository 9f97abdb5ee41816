"""Checks of an xlsx file before anything parses it: every part is inflated once, and inspected meanwhile."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from domain.entities.sheets import LARGEST_INFLATED, MOST_COLUMNS
from domain.errors import BadRequest

MOST_PARTS = 1_000
_PIECE = 64 * 1024
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_CELL = re.compile(rb'<c\b[^>]*?\sr="([A-Z]{1,3})([0-9]{1,7})"')
_ROW = re.compile(rb'<row\b[^>]*?\sr="([0-9]{1,9})"')
_OVERLAP = 512  # bytes of a piece that are looked at again with the next, for a tag that stands across both
_ARCHIVES = (b"PK\x03\x04", b"Rar!", b"7z\xbc\xaf", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\xd0\xcf\x11\xe0")
_MACROS = re.compile(r"vbaproject|vbadata|xl/macrosheets/|xl/dialogsheets/", re.IGNORECASE)
_STRAY = 4
"""Cells that a sheet may span for each cell that it has: the reader allocates memory for the whole span."""
_SMALL = 200_000  # a span of so many cells costs little, however few of them are used


def ensure_harmless(file: BinaryIO) -> list[int]:
    """Returns the first used row of every worksheet, in the workbook's order. Raises BadRequest, naming the part."""
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as book:
            parts = book.infolist()
            _ensure_plain(parts)
            scans = {part.filename: Scan(part.filename) for part in parts}
            total = 0
            for part in parts:
                total += _measured(file, part, scans[part.filename], LARGEST_INFLATED - total)
            return [scans[name].first_row for name in _sheets_in_order(book) if name in scans]
    except (zipfile.BadZipFile, NotImplementedError, zlib.error, EOFError, ValueError, OSError) as error:
        raise BadRequest("The file is a damaged xlsx.") from error


def _ensure_plain(parts: list[zipfile.ZipInfo]) -> None:
    names = [part.filename for part in parts]
    lowered = {name.lower() for name in names}
    if len(parts) > MOST_PARTS:
        raise BadRequest(f"The file has {len(parts)} parts; an xlsx has {MOST_PARTS} at most.")
    # Of two parts with a name this check and the parser could each see another.
    if len(lowered) < len(parts):
        raise BadRequest("The file has two parts of one name.")
    if any(part.flag_bits & 0x41 for part in parts):  # bit 0: encrypted, bit 6: strongly encrypted
        raise BadRequest("The file is encrypted: save it without a password.")
    if "[content_types].xml" not in lowered or "xl/workbook.xml" not in lowered:
        raise BadRequest("The file is an archive, but no xlsx.")
    macro = next((name for name in names if _MACROS.search(name)), None)
    if macro is not None:
        raise BadRequest(f"The file carries macros ({macro}): save it as xlsx, without them.")
    if any(part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for part in parts):
        raise BadRequest("The file is packed in a way that no xlsx is.")


class Scan:
    """Findings about a part of the archive while it inflates, piece by piece."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_sheet = _SHEET.fullmatch(name) is not None
        self.first_row = 1
        self._tail = b""
        self._size = self._cells = self._last_row = self._last_column = 0
        self._rows_seen = False

    def take(self, piece: bytes) -> None:
        if not self._size and piece.startswith(_ARCHIVES):
            raise BadRequest(f"The file holds another archive ({self.name}).")
        self._size += len(piece)
        text = self._tail + piece
        if self.name.endswith((".xml", ".rels")):
            self._ensure_flat(text)
        if self.is_sheet:
            self._see_cells(text)
        self._tail = text[-_OVERLAP:]

    def _ensure_flat(self, text: bytes) -> None:
        # The last two are the beginnings of a declaration in UTF-16, little and big endian.
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text or b"<\0!\0" in text or b"\0<\0!" in text:
            raise BadRequest(f"The file declares entities ({self.name}), which no xlsx does.")
        if self.name == "[Content_Types].xml" and b"macroEnabled" in text:
            raise BadRequest("The file carries macros: save it as xlsx, without them.")

    def _see_cells(self, text: bytes) -> None:
        found = _CELL.findall(text)
        rows = [int(number) for number in _ROW.findall(text)]
        if found:
            self._cells += len(found)  # cells in the overlap count twice, which an estimate can bear
            self._last_column = max(self._last_column, *(_number(letters) for letters in {cell[0] for cell in found}))
            rows += [int(found[0][1]), max(int(row) for _, row in found)]
        if rows:
            self.first_row = min(self.first_row, *rows) if self._rows_seen else min(rows)
            self._rows_seen = True
            self._last_row = max(self._last_row, *rows)
        self._ensure_dense()

    def _ensure_dense(self) -> None:
        if self._last_column > MOST_COLUMNS:
            columns = f"The sheet {self.name} has {self._last_column} columns"
            raise BadRequest(f"{columns}; at most {MOST_COLUMNS} are taken.")
        # Wider than at the end: the first cells of a sheet may be its outermost, with all others still to come.
        span = (self._last_row - self.first_row + 1) * self._last_column
        if span > _SMALL + _STRAY * self._cells * MOST_COLUMNS:
            raise BadRequest(f"The sheet {self.name} has cells far away from all others.")

    def ensure_dense_at_end(self) -> None:
        span = (self._last_row - self.first_row + 1) * self._last_column
        if span > _SMALL + _STRAY * self._cells:
            raise BadRequest(f"The sheet {self.name} spans {span} cells and has {self._cells}: clear what is far away.")


def _number(letters: bytes) -> int:
    """Number of a column by its letters: 1 for ``A``, 28 for ``AB``."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _measured(file: BinaryIO, part: zipfile.ZipInfo, scan: Scan, most: int) -> int:
    """Inflates and scans a part, and returns its size. Raises BadRequest past ``most`` bytes."""
    size = 0
    for piece in _inflated(file, part):
        size += len(piece)
        if size > most:
            raise BadRequest(f"The file inflates past {LARGEST_INFLATED // 2**20} MiB ({part.filename}).")
        scan.take(piece)
    # The parser may trust the size that the archive states, and so it must be true.
    if size != part.file_size:
        raise BadRequest(f"The file lies about its sizes ({part.filename}).")
    if scan.is_sheet:
        scan.ensure_dense_at_end()
    return size


def _inflated(file: BinaryIO, part: zipfile.ZipInfo) -> Iterator[bytes]:
    # zipfile's own reader stops at the stated size: what a bomb inflates to beyond it would not be seen.
    file.seek(part.header_offset)
    head = file.read(30)
    if len(head) < 30 or not head.startswith(b"PK\x03\x04"):
        raise zipfile.BadZipFile
    file.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
    left = part.compress_size
    inflater = None if part.compress_type == zipfile.ZIP_STORED else zlib.decompressobj(-15)  # raw deflate
    while left:
        packed = file.read(min(left, _PIECE))
        if not packed:
            raise EOFError
        left -= len(packed)
        if inflater is None:
            yield packed
            continue
        while packed:
            yield inflater.decompress(packed, _PIECE)
            packed = inflater.unconsumed_tail
    if inflater is not None and not inflater.eof:
        yield inflater.flush()


def _sheets_in_order(book: zipfile.ZipFile) -> list[str]:
    """Names of the worksheets' parts, in the order of the workbook."""
    relations = dict(_relations(book.read("xl/_rels/workbook.xml.rels")))
    ids = re.findall(rb'<(?:\w+:)?sheet\b[^>]*?\s\w+:id="([^"]*)"', book.read("xl/workbook.xml"))
    return [_part(relations.get(relation, b"").decode("utf-8", "replace")) for relation in ids]


def _relations(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Targets of the workbook's relationships by id."""
    for tag in re.findall(rb"<(?:\w+:)?Relationship\b[^>]*>", text):
        found = dict(re.findall(rb'(\w+)="([^"]*)"', tag))
        yield found.get(b"Id", b""), found.get(b"Target", b"")


def _part(target: str) -> str:
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
