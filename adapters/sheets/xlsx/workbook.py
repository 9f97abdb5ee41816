"""Parts of a workbook around its sheets: the list of sheets, date formats, and shared texts."""

import posixpath
import re
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import IO

from msgspec import Struct

from adapters.sheets.xlsx.archive import Archive, resolved
from adapters.sheets.xlsx.xml_part import XmlPart, main_names, paired, relation_id
from domain.errors import BadRequest

_USUAL_WORKBOOK = "xl/workbook.xml"
_TYPES = "[Content_Types].xml"
MOST_FORMATS = 100_000
LONGEST_TEXT = 1024 * 1024
"""Maximum characters of a cell's text: as many as in a CSV line."""
_SHORT = 256
"""Bytes of a shared text that is cached."""

# ECMA-376, 18.8.30: date formats without a format code, including East Asian ones.
_DATE_FORMATS = frozenset(map(str, (*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59))))
_NO_FORMAT = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_DATE_LETTERS = re.compile(r"[dmyhs]", re.IGNORECASE)
_UNICODE_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")


class SheetPart(Struct, frozen=True):
    """A worksheet: its name, visibility, and part in the archive."""

    name: str
    is_visible: bool
    part: str


class Workbook(Struct, frozen=True):
    """The worksheets of an xlsx file, its parts with styles and texts, and whether its dates count from 1904.

    ``sheets`` are in order, without chart sheets, dialogs and macro sheets.
    """

    sheets: tuple[SheetPart, ...]
    is_1904: bool
    styles: str
    texts: str


def read_workbook(archive: Archive) -> Workbook:
    """Sheets in the order of their tabs, found by relationships and not by the usual names of their parts.

    Raises BadRequest for files with macros or without a worksheet, and for missing styles.
    """
    types = _TypesPart(_TYPES)
    types.read_all(archive.pieces(_TYPES))
    types.ensure_no_macros(archive)
    workbook = _relations_of(archive, "").first("officeDocument") or _USUAL_WORKBOOK
    if workbook not in archive:
        raise BadRequest("The file is an archive, but no xlsx.")
    relations = _relations_of(archive, workbook)
    book = _WorkbookPart(workbook)
    book.read_all(archive.pieces(workbook))
    worksheets = relations.parts("worksheet")
    found = [(name, state, worksheets.get(target or "")) for name, state, target in book.sheets]
    sheets = [
        SheetPart(name, state not in ("hidden", "veryHidden"), part)
        for name, state, part in found
        if part is not None and part in archive
    ]
    if not sheets:
        raise BadRequest("The file has no worksheet.")
    styles, texts = relations.first("styles"), relations.first("sharedStrings")
    # Without its styles a date would be stored as a number. Missing shared texts are errors of the cells that use them:
    # writers of inline texts declare the part and leave it out.
    if styles is not None and styles not in archive:
        raise BadRequest(f"The file is a damaged xlsx: {styles} is missing.")
    folder = posixpath.dirname(workbook)
    return Workbook(
        tuple(sheets),
        book.is_1904,
        styles=styles or posixpath.join(folder, "styles.xml"),
        texts=texts or posixpath.join(folder, "sharedStrings.xml"),
    )


class _TypesPart(XmlPart):
    """Content types of single parts and of extensions."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self._parts: set[str] = set()
        self._with_macros: set[str] = set()
        self._extensions: set[str] = set()

    def start(self, _: str, attributes: list[str]) -> None:
        found = paired(attributes)
        has_macros = "macroEnabled" in found.get("ContentType", "")
        if "PartName" in found:
            name = found["PartName"].lstrip("/").lower()
            self._parts.add(name)
            if has_macros:
                self._with_macros.add(name)
        elif has_macros:
            self._extensions.add("." + found.get("Extension", "").lower())

    def ensure_no_macros(self, archive: Archive) -> None:
        """Raise BadRequest for a content type with macros."""
        # SheetJS declares this type for the extension bin in every workbook. So an extension counts only if an archive
        # entry has it.
        endings = tuple(self._extensions)
        if any(
            name in self._with_macros or (name not in self._parts and name.endswith(endings)) for name in archive.names
        ):
            raise BadRequest("The file carries macros: save it as xlsx, without them.")

    def end(self, _: str) -> None:
        pass


def _relations_of(archive: Archive, part: str) -> "_RelationsPart":
    """Relationships of the part; of the archive for ``""``."""
    folder, name = posixpath.split(part)
    relations = _RelationsPart(posixpath.join(folder, "_rels", f"{name}.rels"), folder)
    if relations.part in archive:
        relations.read_all(archive.pieces(relations.part))
    return relations


class _RelationsPart(XmlPart):
    def __init__(self, part: str, folder: str) -> None:
        super().__init__(part)
        self._folder = folder
        self._found: list[tuple[str, str, str]] = []

    def start(self, _: str, attributes: list[str]) -> None:
        found = paired(attributes)
        kind, target = found.get("Type", ""), found.get("Target", "")
        if kind and target and found.get("TargetMode") != "External":
            self._found.append((kind.rpartition("/")[2], found.get("Id", ""), resolved(target, self._folder)))

    def parts(self, kind: str) -> dict[str, str]:
        """Return entries of the kind, such as ``worksheet``, by the relationship's id."""
        return {number: part for found, number, part in self._found if found == kind}

    def first(self, kind: str) -> str | None:
        return next(iter(self.parts(kind).values()), None)

    def end(self, _: str) -> None:
        pass


class _WorkbookPart(XmlPart):
    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.sheets: list[tuple[str, str, str | None]] = []
        self.is_1904 = False

    def start(self, name: str, attributes: list[str]) -> None:
        short = _BOOK_NAMES.get(name)
        if short == "sheet":
            found = paired(attributes)
            self.sheets.append((found.get("name", ""), found.get("state", "visible"), relation_id(found)))
        elif short == "workbookPr":
            self.is_1904 = paired(attributes).get("date1904", "0") in ("1", "true")

    def end(self, _: str) -> None:
        pass


_BOOK_NAMES = main_names("sheet", "workbookPr")


def read_date_styles(archive: Archive, part: str) -> frozenset[int]:
    """Return indices of the cell styles that show a number as a date or a time."""
    if part not in archive:
        return frozenset()
    styles = _StylesPart(part)
    styles.read_all(archive.pieces(part))
    dates = {number for number, code in styles.codes.items() if is_date_format(code)}
    dates |= _DATE_FORMATS - styles.codes.keys()
    return frozenset(place for place, number in enumerate(styles.formats) if number in dates)


def is_date_format(code: str) -> bool:
    """Return whether a format code shows a date or a time: ``[Red]d/m/yyyy`` does, ``"day" 0.00`` does not."""
    plain = _NO_FORMAT.sub("", code.partition(";")[0])
    return _DATE_LETTERS.search(plain) is not None and "general" not in plain.lower()


class _StylesPart(XmlPart):
    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.codes: dict[str, str] = {}
        self.formats: list[str] = []
        self._is_within = False

    def start(self, name: str, attributes: list[str]) -> None:
        short = _STYLE_NAMES.get(name)
        if short == "numFmt":
            found = paired(attributes)
            self.codes[found.get("numFmtId", "")] = found.get("formatCode", "")[:1000]
        elif short == "cellXfs":
            self._is_within = True
        elif short == "xf" and self._is_within:
            self.formats.append(paired(attributes).get("numFmtId", "0"))
        if len(self.formats) + len(self.codes) > MOST_FORMATS:
            raise BadRequest(f"The file has over {MOST_FORMATS} formats of cells.")

    def end(self, name: str) -> None:
        if _STYLE_NAMES.get(name) == "cellXfs":
            self._is_within = False


_STYLE_NAMES = main_names("numFmt", "cellXfs", "xf")


class SharedTexts:
    """Texts shared by cells, stored on disk, because together they may exceed the memory limit of this process."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ends = array("I", [0])
        self._size = 0
        self._remembered = lru_cache(maxsize=10_000)(self._read)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, text: str) -> None:
        written = text.encode("utf-8", "surrogatepass")
        self._size += len(written)
        self._file.write(written)
        self._ends.append(self._size)

    def get(self, number: int) -> str | None:
        """Return the text of this index, from 0, or None."""
        if not 0 <= number < len(self):
            return None
        is_short = self._ends[number + 1] - self._ends[number] < _SHORT
        return self._remembered(number) if is_short else self._read(number)

    def _read(self, number: int) -> str:
        start, end = self._ends[number], self._ends[number + 1]
        self._file.seek(start)
        return self._file.read(end - start).decode("utf-8", "surrogatepass")


@contextmanager
def shared_texts(archive: Archive, part: str) -> Iterator[SharedTexts]:
    with tempfile.TemporaryFile(buffering=1024 * 1024) as file:
        texts = SharedTexts(file)
        if part in archive:
            reader = _TextsPart(part, texts)
            reader.read_all(archive.pieces(part), reader.text)
        yield texts


class TextCollector:
    """Text of the elements ``t`` of a cell or an item, without pronunciation hints (``rPh``)."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._pieces: list[str] = []
        self._size = 0
        self.is_open = False

    def take(self, text: str) -> None:
        if self.is_open:
            self._size += len(text)
            if self._size > LONGEST_TEXT:
                raise BadRequest(f"The file has a text of over {LONGEST_TEXT} characters ({self._part}).")
            self._pieces.append(text)

    def taken(self) -> str:
        text = "".join(self._pieces)
        if self._pieces:
            self._pieces.clear()
            self._size = 0
        return text


class _TextsPart(XmlPart):
    def __init__(self, part: str, texts: SharedTexts) -> None:
        super().__init__(part)
        self._texts = texts
        self._collector = TextCollector(part)
        self._is_hint = False
        self.text = self._collector.take

    def start(self, name: str, _: list[str]) -> None:
        short = _TEXT_NAMES.get(name)
        if short == "t":
            self._collector.is_open = not self._is_hint
        elif short == "rPh":
            self._is_hint = True

    def end(self, name: str) -> None:
        short = _TEXT_NAMES.get(name)
        if short == "t":
            self._collector.is_open = False
        elif short == "si":
            self._texts.add(unescaped_text(self._collector.taken()))
        elif short == "rPh":
            self._is_hint = False


_TEXT_NAMES = main_names("si", "t", "rPh")


def unescaped_text(text: str) -> str:
    """Decode escapes of characters that XML cannot contain: ``a_x000D_`` ends with a carriage return.

    A lone surrogate remains, and the row's check refuses it.
    """
    if "_x" not in text:
        return text
    plain = _UNICODE_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    # Two escapes may form one character.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
