"""Cells of an xlsx that has passed adapters/sheets/xlsx_gate.py."""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import fastexcel
from msgspec import Struct

from adapters.sheets.xlsx_gate import ensure_harmless
from domain.entities.csv_rows import Cells
from domain.entities.declaration import EntityModel, Kind
from domain.entities.sheets import ImportOptions, fields_by_title
from domain.errors import BadRequest, ValidationError, unknown_name

AT_A_TIME = 2_000


def read_xlsx(file: BinaryIO, model: EntityModel, options: ImportOptions) -> Iterator[tuple[int, Cells]]:
    """Rows with their numbers in the sheet, blank rows left out. Raises BadRequest, ValidationError."""
    if options.delimiter is not None or options.encoding is not None:
        name = "delimiter" if options.delimiter is not None else "encoding"
        raise ValidationError.on(f"options.{name}", "is for CSV; this file is xlsx")
    first_rows = ensure_harmless(file)
    file.seek(0)
    try:
        book = fastexcel.read_excel(file.read())
        index = _index(book.sheet_names, options)
        first = first_rows[index] if index < len(first_rows) else 1
        yield from _cells(book, index, first, model, options)
    except fastexcel.FastExcelError as error:
        raise BadRequest(f"The file is no xlsx that can be read: {str(error).splitlines()[0]}") from None


def _index(names: list[str], options: ImportOptions) -> int:
    """Index of the sheet that the options name, by its name or its number from 1; by default the first."""
    wanted = options.sheet
    if wanted is None:
        return 0
    if isinstance(wanted, int):
        if 1 <= wanted <= len(names):
            return wanted - 1
        raise ValidationError.on("options.sheet", f"takes 1 to {len(names)}")
    found = [number for number, name in enumerate(names) if name.lower() == wanted.lower()]
    if not found:
        raise ValidationError.on("options.sheet", unknown_name(wanted, names))
    return found[0]


def _cells(
    book: Any, index: int, first: int, model: EntityModel, options: ImportOptions
) -> Iterator[tuple[int, Cells]]:
    sheet = book.load_sheet(index, header_row=None, dtypes="string")
    if not sheet.width:
        return
    frame = sheet.to_polars()
    columns = _number_columns(frame, model, options)
    # A second look at the columns of numbers: as texts the library rounds them to nine digits behind the point.
    exact = _numbers(book, index, columns)
    for start in range(0, frame.height, AT_A_TIME):
        numbers = {place: column[start : start + AT_A_TIME].to_list() for place, column in exact.items()}
        for offset, row in enumerate(frame[start : start + AT_A_TIME].rows()):
            cells: Cells = [*row]
            for place, column in numbers.items():
                if column[offset] is not None and cells[place] is not None:
                    cells[place] = columns[place].text(column[offset])
            if any(cell is not None and cell != "" for cell in cells):
                yield first + start + offset, [cell or None for cell in cells]


class NumberColumn(Struct, frozen=True):
    """Column of numbers, whose texts are written here and not by the library."""

    is_float: bool

    def text(self, number: float) -> str:
        # A spreadsheet shows fifteen digits: a computed 0.3 must not arrive as 0.30000000000000004.
        return repr(number) if self.is_float else f"{number:.15g}"


def _number_columns(frame: Any, model: EntityModel, options: ImportOptions) -> dict[int, NumberColumn]:
    """Columns of numbers by their place, found by the names in the header."""
    fields = fields_by_title(model, frame.row(0), options.columns)
    return {
        place: NumberColumn(field.kind is Kind.FLOAT)
        for place, field in enumerate(fields)
        if field is not None and field.kind in (Kind.FLOAT, Kind.DECIMAL)
    }


def _numbers(book: Any, index: int, columns: Mapping[int, NumberColumn]) -> dict[int, Any]:
    if not columns:
        return {}
    places = list(columns)
    sheet = book.load_sheet(index, header_row=None, dtypes=dict.fromkeys(places, "float"), use_columns=places)
    read = sheet.to_polars()
    return {place: read.to_series(number) for number, place in enumerate(places)}
