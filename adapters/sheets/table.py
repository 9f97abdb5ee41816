"""Table in a file: its rows as the reader of each format hands them over."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from msgspec import Struct

from domain.entities.csv_rows import Cells
from domain.entities.sheets import sentence
from domain.errors import FieldError


class BadRow(Struct, frozen=True):
    """Errors of a row that stand before any validation; ``details`` is empty where no field is known."""

    message: str
    details: tuple[FieldError, ...] = ()

    @classmethod
    def on(cls, fields: Sequence[FieldError]) -> Self:
        return cls(sentence(fields), tuple(fields))


@dataclass
class Table:
    """Rows with their numbers, the header first.

    ``samples`` are the first rows as text, with the cells of columns that fill no field; they are complete once these
    rows have been read. ``is_escaped`` says that texts may have the escape of formulas.
    """

    rows: Iterator[tuple[int, Cells | BadRow]]
    samples: list[Cells] = field(default_factory=list)
    is_escaped: bool = False
    sheets: Sequence[str] = ()
    sheet: str | None = None
