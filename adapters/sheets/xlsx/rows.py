"""Rows of an xlsx for an import: the header, then each row with its cells in the header's order."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO
from zoneinfo import ZoneInfo

from adapters.sheets.row_text import NO_NAME
from adapters.sheets.table import BadRow, Table
from adapters.sheets.xlsx.archive import Archive
from adapters.sheets.xlsx.sheet import Cell, SheetReader
from adapters.sheets.xlsx.values import CellReader
from adapters.sheets.xlsx.workbook import SheetPart, Workbook, read_date_styles, read_workbook, shared_texts
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.files.cells import WrongCell
from domain.entities.files.csv_rows import Cells
from domain.entities.files.file_headers import LONGEST_NAME, fields_by_title, is_passed_over
from domain.entities.files.options import ImportOptions
from domain.entities.files.spelling import respelling
from domain.entities.files.suggestions import FIRST_ROWS
from domain.entities.kinds import Kind
from domain.entities.sheets import LARGEST_INFLATED
from domain.errors import BadRequest, FieldError, ValidationError, unknown_name


def read_xlsx(file: BinaryIO, model: EntityModel, options: ImportOptions) -> Table:
    """Read a sheet's table without blank rows. Raises BadRequest, ValidationError.

    Hidden rows and columns are read like others; the first of merged cells has the value.
    """
    if options.delimiter is not None or options.encoding is not None:
        name = "delimiter" if options.delimiter is not None else "encoding"
        raise ValidationError.on(f"options.{name}", "is for CSV; this file is xlsx")
    archive = Archive(file)
    book = read_workbook(archive)
    chosen = _chosen(book.sheets, options)
    rows = _Rows(model, options)
    visible = [sheet.name for sheet in book.sheets if sheet.is_visible]
    return Table(rows.read(archive, book, chosen.part), rows.first, sheets=visible, sheet=chosen.name)


def _chosen(sheets: Sequence[SheetPart], options: ImportOptions) -> SheetPart:
    """Sheet by name or number from 1; by default the first visible one."""
    wanted = options.sheet
    if wanted is None:
        return next((sheet for sheet in sheets if sheet.is_visible), sheets[0])
    if isinstance(wanted, int):
        if 1 <= wanted <= len(sheets):
            return sheets[wanted - 1]
        raise ValidationError.on("options.sheet", f"must be 1 to {len(sheets)}")
    found = next((sheet for sheet in sheets if sheet.name.lower() == wanted.lower()), None)
    if found is None:
        raise ValidationError.on("options.sheet", unknown_name(wanted, [sheet.name for sheet in sheets]))
    return found


class _Rows:
    """Rows of a sheet's table; the first nonempty row is the header."""

    def __init__(self, model: EntityModel, options: ImportOptions) -> None:
        self._model, self._options = model, options
        self._first = self._width = self._size = 0
        self._fields: list[FieldModel | None] = []
        self.first: list[tuple[int, Cells]] = []

    def read(self, archive: Archive, book: Workbook, part: str) -> Iterator[tuple[int, Cells | BadRow]]:
        reader, zone = SheetReader(part), ZoneInfo(self._options.time_zone or "UTC")
        with shared_texts(archive, book.texts) as texts:
            respells = {kind: respell for kind in Kind if (respell := respelling(kind, self._options)) is not None}
            cells = CellReader(texts, read_date_styles(archive, book.styles), book.is_1904, zone, respells)
            for number, row in reader.read(archive.pieces(part), reader.text):
                if number < (self._options.header_row or 1):
                    continue
                if not self._fields:
                    names = self._header(number, row, cells)
                    self.first.append((number, self._texts(row, cells)))
                    yield number, names
                    continue
                if len(self.first) < FIRST_ROWS:
                    self.first.append((number, self._texts(row, cells)))
                found = self._row(row, cells)
                if isinstance(found, BadRow) or any(cell is not None for cell in found):
                    yield number, found

    def _header(self, number: int, row: dict[int, Cell], cells: CellReader) -> Cells:
        self._first = min(row)
        self._width = max(row) - self._first + 1
        names: Cells = [None] * self._width
        for column, cell in row.items():
            try:
                names[column - self._first] = cells.text(cell, Kind.TEXT)
            except WrongCell as error:
                message = f"is named by a cell of row {number} that {error}"
                raise ValidationError.on(f"column {column + 1}", message) from None
        self._fields = fields_by_title(self._model, names, self._options.columns)
        return names

    def _texts(self, row: dict[int, Cell], cells: CellReader) -> Cells:
        """What the cells show, in short and also behind the header's last column."""
        found: Cells = [None] * max(max(row) - self._first + 1, 0)
        for column, cell in row.items():
            if (place := column - self._first) >= 0:
                with suppress(WrongCell):
                    found[place] = (cells.text(cell, Kind.TEXT) or "")[:LONGEST_NAME] or None
        return found

    def _row(self, row: dict[int, Cell], cells: CellReader) -> Cells | BadRow:
        found: Cells = [None] * self._width
        wrong: list[FieldError] = []
        for column, cell in row.items():
            place = column - self._first
            if not 0 <= place < self._width:
                wrong.append(FieldError(f"column {column + 1}", NO_NAME))
                continue
            field = self._fields[place]
            if field is None or is_passed_over(field, self._options):
                continue
            try:
                text = cells.text(cell, field.kind)
            except WrongCell as error:
                wrong.append(FieldError(field.wire, str(error)))
                continue
            if text is not None:
                self._size += len(text)
                found[place] = text
        # Check the total size: thousands of cells may share one long text.
        if self._size > LARGEST_INFLATED:
            raise BadRequest(f"The file inflates past {LARGEST_INFLATED // 2**20} MiB.")
        return BadRow.on(wrong) if wrong else found
