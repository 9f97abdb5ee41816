"""Table in a file: its rows, as each format's reader returns them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from msgspec import Struct

from domain.entities.files.csv_rows import Cells
from domain.entities.files.file_headers import LONGEST_NAME
from domain.entities.sheets import sentence
from domain.errors import FieldError


class BadRow(Struct, frozen=True):
    """Errors of a row that stand before any validation; ``details`` is empty where no field is known.

    ``cells`` are those that can be shown all the same.
    """

    message: str
    details: tuple[FieldError, ...] = ()
    cells: Cells | None = None

    @classmethod
    def on(cls, fields: Sequence[FieldError]) -> Self:
        return cls(sentence(fields), tuple(fields))


@dataclass
class Table:
    """Rows with their numbers, the header first.

    ``first`` are the first rows in short, the header among them, with the cells of columns that fill no field; they are
    complete once these rows have been read. ``is_text`` says that every cell is text, and that one of a field of text
    may have the escape of formulas. ``is_other_encoding`` says that the file has bytes that are no UTF-8.
    """

    rows: Iterator[tuple[int, Cells | BadRow]]
    first: list[tuple[int, Cells]] = field(default_factory=list)
    is_text: bool = False
    is_other_encoding: bool = False
    sheets: Sequence[str] = ()
    sheet: str | None = None

    def note(self, number: int, row: Cells | BadRow) -> None:
        """Adds a row to the first ones, in short."""
        cells = row.cells if isinstance(row, BadRow) else row
        if cells is not None:
            self.first.append((number, [cell and cell[:LONGEST_NAME] for cell in cells]))
