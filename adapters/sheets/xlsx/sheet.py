"""Non-empty cells of a worksheet, row by row."""

import re
from collections.abc import Iterator
from typing import NoReturn

from adapters.sheets.xlsx.workbook import TextCollector, unescaped_text
from adapters.sheets.xlsx.xml_part import XmlPart, main_names
from domain.entities.files.file_headers import MOST_COLUMNS
from domain.errors import BadRequest

LAST_ROW = 1_048_576
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")

Cell = tuple[str, str, str]
"""A non-empty cell: its type (``t``), the number of its style (``s``), and its content.

Additional types: ``text`` has its text here and not among the shared ones, ``formula`` has no result.
"""
SheetRow = tuple[int, dict[int, Cell]]
"""Number of a row, and its cells by column, counted from 0."""


class SheetReader(XmlPart):
    """Reads ``sheetData``. It omits rows without content, such as the last row in files of LibreOffice."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self._collector = TextCollector(part)
        self.text = self._collector.take
        self._rows: list[SheetRow] = []
        self._row = 0
        self._cells: dict[int, Cell] = {}
        self._column = -1
        self._type = self._style = "n"
        self._value: str | None = None
        self._has_formula = self._is_hint = self._is_within = False

    def found(self) -> Iterator[SheetRow]:
        rows, self._rows = self._rows, []
        return iter(rows)

    def start(self, name: str, attributes: list[str]) -> None:
        short = _NAMES.get(name)
        if short == "c":
            self._start_cell(attributes)
        elif short in ("v", "t"):
            self._collector.is_open = not self._is_hint
        elif short == "row":
            self._start_row(attributes)
        elif short == "f":
            self._has_formula = True
        elif short == "rPh":
            self._is_hint = True

    def end(self, name: str) -> None:
        short = _NAMES.get(name)
        if short == "v":
            self._collector.is_open = False
            self._value = self._collector.taken()
        elif short == "c":
            self._end_cell()
        elif short == "t":
            self._collector.is_open = False
        elif short == "row":
            if self._cells:
                self._rows.append((self._row, self._cells))
            self._cells, self._column = {}, -1
        elif short == "rPh":
            self._is_hint = False

    def _start_row(self, attributes: list[str]) -> None:
        number = str(self._row + 1)
        for place in range(0, len(attributes), 2):
            if attributes[place] == "r":
                number = attributes[place + 1]
        if not (number.isdecimal() and number.isascii() and len(number) < 8 and self._row < int(number) <= LAST_ROW):
            raise BadRequest(
                f"The file is a damaged xlsx: row {self._row} of {self.part} is followed by {number[:20]!r}."
            )
        self._row = int(number)

    def _start_cell(self, attributes: list[str]) -> None:
        self._type, self._style, self._value = "n", "0", None
        self._has_formula = False
        reference = None
        for place in range(0, len(attributes), 2):
            name = attributes[place]
            if name == "r":
                reference = attributes[place + 1]
            elif name == "t":
                self._type = attributes[place + 1]
            elif name == "s":
                self._style = attributes[place + 1]
        self._column = self._column + 1 if reference is None else self._place(reference)

    def _place(self, reference: str) -> int:
        """Column index from 0: 27 for ``AB7``."""
        found = _REFERENCE.fullmatch(reference)
        if found is None or int(found[2]) != self._row:
            self._refuse_cell(reference)
        number = 0
        for letter in found[1]:
            number = number * 26 + ord(letter) - 64
        return number - 1

    def _end_cell(self) -> None:
        if self._type == "inlineStr":
            text = unescaped_text(self._collector.taken())
            cell = ("text", self._style, text)
        elif self._value is not None:
            text = self._value
            if self._type == "str":
                text = unescaped_text(text)
            cell = ("text" if self._type == "str" else self._type, self._style, text)
        else:
            # Programs without calculation write only the formula, without a result.
            text = "formula" if self._has_formula else ""
            cell = ("formula", self._style, text)
        if not text:
            return
        if self._column >= MOST_COLUMNS:
            columns = f"The sheet {self.part} has {self._column + 1} columns"
            raise BadRequest(f"{columns}; at most {MOST_COLUMNS} are taken.")
        if self._column in self._cells:
            self._refuse_cell(f"column {self._column + 1} twice")
        self._cells[self._column] = cell

    def _refuse_cell(self, what: str) -> NoReturn:
        raise BadRequest(f"The file is a damaged xlsx: row {self._row} of {self.part} has a cell {what[:20]!r}.")


_NAMES = main_names("c", "v", "t", "row", "f", "rPh")
