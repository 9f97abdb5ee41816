"""Worker that writes an xlsx: cells arrive in pieces, and only one row is in memory.

``python -m adapters.sheets.writer DESCRIPTOR FOLDER`` reads its job as a line from standard input, then the rows.
"""

import codecs
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import xlsxwriter
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from adapters.sheets.frames import WriteJob
from adapters.sheets.writing_process import run
from domain.entities.files.csv_rows import read_rows
from domain.entities.kinds import NUMBERS, Kind
from domain.entities.sheets import LONGEST_XLSX_TEXT, MOST_XLSX_ROWS
from domain.errors import BadRequest

MOST_DIGITS = 15  # decimal digits that a double preserves
# Security: without the last three, a text beginning with `=` would become a formula.
_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}

Put = Callable[[int, int, str], object]


class Sheet(Worksheet):  # type: ignore[misc]  # no types are published
    """Worksheet for cells without formats and rich text, written with fewer checks than by the library."""

    def _write_cell(self, row: int, column: int, cell: Any) -> None:
        kind = type(cell).__name__
        if kind == "String":
            self.fh.write(f'<c r="{_letters(column)}{row + 1}" t="inlineStr"><is>{self._inline(cell.string)}</is></c>')
        elif kind == "Number":
            self.fh.write(f'<c r="{_letters(column)}{row + 1}"><v>{cell.number:.16G}</v></c>')
        else:
            super()._write_cell(row, column, cell)

    def _inline(self, text: str) -> str:
        if _PLAIN.fullmatch(text):
            return f"<t>{text}</t>"
        # The library misses an escape overlapping another one: _x0041_x0042_
        literal = _LOOKS_ESCAPED.sub("_x005F_", text)
        escaped = _NO_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", literal)
        return f'<t xml:space="preserve">{self._escape_data(escaped)}</t>'


_PLAIN = re.compile(r"[!-%'-;=?-^`-~]([ -%'-;=?-^`-~]*[!-%'-;=?-^`-~])?")
"""ASCII text without XML escapes that neither begins nor ends with a blank."""


_LOOKS_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_NO_XML = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
"""Characters forbidden in XML, and the carriage return, which XML readers convert to a line feed."""


@cache
def _letters(column: int) -> str:
    name: str = xl_col_to_name(column)
    return name


def main() -> None:
    run(lambda job, pieces, made, folder: write(job, _lines(pieces), made, folder))


def write(job: WriteJob, lines: Iterator[str], made: BinaryIO, folder: Path) -> None:
    book = xlsxwriter.Workbook(made, {**_OPTIONS, "tmpdir": str(folder)})
    sheet = book.add_worksheet(worksheet_class=Sheet)
    try:
        for column, name in enumerate(job.names):
            sheet.write_string(0, column, name)
        puts = [_put(sheet, kind) for kind in job.kinds]
        for row, cells in enumerate(read_rows(lines), start=1):
            if row > MOST_XLSX_ROWS:
                raise BadRequest(f"A sheet holds {MOST_XLSX_ROWS} rows, and there are more.")
            for column, cell in enumerate(cells):
                if cell:
                    puts[column](row, column, cell)
    except BaseException:
        _abandon(sheet)
        raise
    book.close()


def _abandon(sheet: Any) -> None:
    # Otherwise the library's exit handler would write the incomplete sheet.
    sheet.row_data_fh.close()


def _put(sheet: Any, kind: Kind) -> Put:
    if kind is Kind.BOOLEAN:
        return lambda row, column, cell: sheet.write_boolean(row, column, cell == "true")

    def text(row: int, column: int, cell: str) -> Any:
        # The public method would repeat these checks.
        return sheet._write_string(row, column, _fitting(row, cell))  # noqa: SLF001  # as said

    if kind not in NUMBERS:
        return text

    def number(row: int, column: int, cell: str) -> object:
        if not is_exact(cell):
            return text(row, column, cell)
        return sheet._write_number(row, column, float(cell))  # noqa: SLF001  # the checked way is twice as slow

    return number


def is_exact(cell: str) -> bool:
    """Return whether a spreadsheet reads and shows every digit of the number."""
    if "e" in cell or len(cell) > MOST_DIGITS + 2:
        return False
    whole, _, fraction = cell.lstrip("-").partition(".")
    return len(whole) + len(fraction) <= MOST_DIGITS


def _fitting(row: int, cell: str) -> str:
    """Raises BadRequest for a text that no cell can hold."""
    # Spreadsheets count UTF-16 code units. The first condition avoids encoding most cells.
    if 2 * len(cell) > LONGEST_XLSX_TEXT and len(cell.encode("utf-16-le")) > 2 * LONGEST_XLSX_TEXT:
        raise BadRequest(f"Row {row + 1} has a text of over {LONGEST_XLSX_TEXT} characters, which no cell holds.")
    if "\ufffe" in cell or "\uffff" in cell:
        raise BadRequest(f"Row {row + 1} has a text with a character that no cell holds.")
    return cell


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    decoder, rest = codecs.getincrementaldecoder("utf-8")(), ""
    for piece in pieces:
        text = rest + decoder.decode(piece)
        lines = text.split("\n")
        rest = lines.pop()
        yield from (f"{line}\n" for line in lines)
    if rest:
        yield rest


if __name__ == "__main__":
    main()
