"""The cells of an xlsx, once adapters/sheets/xlsx_gate.py has let it in."""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import fastexcel
from msgspec import Struct

from adapters.sheets.xlsx_gate import ensure_harmless
from domain.entities.csv_rows import Cells
from domain.entities.declaration import EntityModel, Kind
from domain.entities.sheets import ImportOptions
from domain.errors import BadRequest, ValidationError, unknown_name

AT_A_TIME = 2_000


def read_xlsx(file: BinaryIO, model: EntityModel, options: ImportOptions) -> Iterator[tuple[int, Cells]]:
    """Rows with the numbers that they have in the sheet, blank ones left out. Raises BadRequest."""
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
    """``sheet`` is a name, or counts from 1; the first one unless it is said."""
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
    """Its text would be written with nine digits behind the point, wrong ones among them."""

    is_float: bool

    def text(self, number: float) -> str:
        """All of a float; of a decimal the fifteen digits that a spreadsheet knows and shows."""
        return repr(number) if self.is_float else f"{number:.15g}"


def _number_columns(frame: Any, model: EntityModel, options: ImportOptions) -> dict[int, NumberColumn]:
    """By place, as the header names them."""
    renames = {name.strip().lower(): wire.lower() for name, wire in options.columns.items()}
    header = [(cell or "").strip().lower() for cell in frame.row(0)]
    fields = [model.by_wire.get(renames.get(name, name)) for name in header]
    return {
        place: NumberColumn(one.kind is Kind.FLOAT)
        for place, one in enumerate(fields)
        if one is not None and one.kind in (Kind.FLOAT, Kind.DECIMAL)
    }


def _numbers(book: Any, index: int, columns: Mapping[int, NumberColumn]) -> dict[int, Any]:
    if not columns:
        return {}
    places = list(columns)
    sheet = book.load_sheet(index, header_row=None, dtypes=dict.fromkeys(places, "float"), use_columns=places)
    read = sheet.to_polars()
    return {place: read.to_series(number) for number, place in enumerate(places)}
