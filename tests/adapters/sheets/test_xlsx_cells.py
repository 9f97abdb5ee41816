"""What a cell becomes for the kind of its field: the table of docs/files.md, row by row."""

import io
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl
import pytest
from msgspec import Struct

from adapters.sheets.frames import DONE, ERRORS, ROWS, Entity, Errors, ReadJob, receive
from adapters.sheets.reader import read
from adapters.sheets.xlsx.workbook import is_date_format
from domain.entities.bodies import EVERY_FIELD
from domain.entities.catalogue import Product
from domain.entities.declaration import EntityModel
from domain.entities.files.csv_rows import read_rows
from domain.entities.files.options import ImportOptions, read_options
from domain.entities.markers import big, entity, money
from domain.entities.registry import read_entity
from domain.entities.sheets import RowError
from domain.errors import BadRequest, FieldError, ValidationError
from tests.adapters.sheets.test_hostile_files import repacked
from tests.documentation.documents import DOCS

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/></numFmts>'
    '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="20"/></cellXfs></styleSheet>'
)
CELLS = {
    "text `Lamp`": '<c r="A2" t="s"><v>0</v></c>',
    "text `12.50`": '<c r="A2" t="inlineStr"><is><t>12.50</t></is></c>',
    "text `2026-11-22`": '<c r="A2" t="inlineStr"><is><t>2026-11-22</t></is></c>',
    "text `2026-11-22T09:30:00Z`": '<c r="A2" t="inlineStr"><is><t>2026-11-22T09:30:00Z</t></is></c>',
    "empty text": '<c r="A2" t="str"><v></v></c>',
    "number 3": '<c r="A2"><v>3</v></c>',
    "number 1E+05": '<c r="A2"><v>1E+05</v></c>',
    "number 0.1+0.2": '<c r="A2"><v>0.30000000000000004</v></c>',
    "number 9007199254740993": '<c r="A2" t="n"><v>9007199254740993</v></c>',
    "number 1E+300": '<c r="A2"><v>1E+300</v></c>',
    "date 22 November 2026": '<c r="A2" s="1"><v>46348</v></c>',
    "date and time 22 November 2026, 9:30": '<c r="A2" s="2"><v>46348.3958333333</v></c>',
    "date 1 March 1900": '<c r="A2" s="1"><v>61</v></c>',
    "date 28 February 1900": '<c r="A2" s="1"><v>59</v></c>',
    "date 29 February 1900": '<c r="A2" s="1"><v>60</v></c>',
    "time 9:30 without a date": '<c r="A2" s="3"><v>0.3958333333</v></c>',
    "true": '<c r="A2" t="b"><v>1</v></c>',
    "formula with the result 7": '<c r="A2"><f>3+4</f><v>7</v></c>',
    "formula with the text `seven`": '<c r="A2" t="str"><f>T("seven")</f><v>seven</v></c>',
    "formula without a result": '<c r="A2"><f>3+4</f></c>',
    "error `#DIV/0!`": '<c r="A2" t="e"><f>1/0</f><v>#DIV/0!</v></c>',
}


@entity("samples", tenant_owned=False, soft_delete=False)
class Sample(Struct, rename="camel", kw_only=True):
    as_text: str | None = None
    as_integer: Annotated[int | None, big] = None
    as_decimal: Annotated[Decimal | None, money(18, 6)] = None
    as_float: float | None = None
    as_boolean: bool | None = None
    as_date: date | None = None
    as_timestamp: datetime | None = None


MODEL: EntityModel = read_entity(Sample)
KINDS = [field.wire.removeprefix("as").lower() for field in MODEL.declared]


def workbook(cells: str, title: str = "asText", *, settings: str = "", sheets: str | None = None) -> bytes:
    """A workbook as a program writes it by hand, with the cells of its second row."""
    tabs = sheets or '<sheet name="First" sheetId="1" r:id="rId1"/>'
    header = "".join(
        f'<c r="{chr(65 + place)}1" t="inlineStr"><is><t>{name}</t></is></c>'
        for place, name in enumerate(title.split(","))
    )
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><workbookPr {settings}/>'
        f"<sheets>{tabs}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": "<Relationships>"
        f'<Relationship Id="rId1" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{RELATIONS}/worksheet" Target="/xl/worksheets/sheet2.xml"/>'
        f'<Relationship Id="rId3" Type="{RELATIONS}/chartsheet" Target="chartsheets/sheet1.xml"/></Relationships>',
        "xl/styles.xml": STYLES,
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><r><t>La</t></r><r><t>mp</t></r>'
        "<rPh><t>hint</t></rPh></si></sst>",
        "xl/chartsheets/sheet1.xml": f'<chartsheet xmlns="{MAIN}"/>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData><row r="1">{header}</row>'
        f'<row r="2">{cells}</row><row r="1048576" ht="28"/></sheetData></worksheet>',
        "xl/worksheets/sheet2.xml": f'<x:worksheet xmlns:x="{MAIN}"><x:sheetData><x:row><x:c t="inlineStr"><x:is>'
        "<x:t>asText</x:t></x:is></x:c></x:row><x:row><x:c><x:v>2</x:v></x:c></x:row></x:sheetData></x:worksheet>",
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return made.getvalue()


def rows_of(file: bytes, model: EntityModel = MODEL, **options: Any) -> tuple[list[list[str | None]], list[RowError]]:
    """Declared fields of the valid rows, as the database is sent them, and the errors."""
    job = ReadJob(entity=Entity("", "", None), options=ImportOptions(**options), may=EVERY_FIELD)
    out = io.BytesIO()
    read(io.BytesIO(file), model, job, out)
    out.seek(0)
    rows, errors = "", Errors(0, ())
    while (frame := receive(out))[0] != DONE:
        rows += frame[1].decode() if frame[0] == ROWS else ""
        errors = msgspec.json.decode(frame[1], type=Errors) if frame[0] == ERRORS else errors
    return [cells[2:] for cells in read_rows(io.StringIO(rows, newline=""))], list(errors.errors)


def documented() -> Iterator[tuple[str, str, str]]:
    """Each cell of the table in docs/files.md: the cell of the sheet, the kind of the field, what it becomes."""
    lines = (DOCS / "files.md").read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| Cell |"))
    kinds = [part.strip() for part in lines[start].strip("|").split("|")][1:]
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        label, *values = (part.strip() for part in line.strip("|").split(" | "))
        yield from ((label, kind, value.strip(" |`")) for kind, value in zip(kinds, values, strict=True))


@pytest.mark.promise(
    "files, spreadsheets: each cell of the table in docs/files.md becomes what it says, for each kind of field: dates, "
    "times, fifteen digits, formulas, errors"
)
def test_every_cell_of_the_table_is_tried() -> None:
    found = list(documented())
    assert {label for label, _, _ in found} == set(CELLS)
    assert len(found) == len(CELLS) * len(KINDS)


@pytest.mark.promise(
    "files, spreadsheets: each cell of the table in docs/files.md becomes what it says, for each kind of field: dates, "
    "times, fifteen digits, formulas, errors"
)
@pytest.mark.promise("files, spreadsheets: Dates of the 1904 system count from 1904, and 29 February 1900 is none")
@pytest.mark.promise(
    "files, spreadsheets: an error cell is an error of its row, and not null; in the header it is named"
)
@pytest.mark.promise(
    "files, spreadsheets: the empty last row that LibreOffice writes is passed over, and a cell far below is an error "
    "of its row"
)
@pytest.mark.parametrize(("label", "kind", "becomes"), list(documented()))
def test_a_cell_is_converted_as_the_table_lists(label: str, kind: str, becomes: str) -> None:
    title = f"as{kind.capitalize()}"
    rows, errors = rows_of(workbook(CELLS[label], title))
    if becomes == "-":
        assert not rows
        assert [(error.row, [detail.field for detail in error.details]) for error in errors] == [(2, [title])]
        return
    assert not errors
    # A row without any value is passed over.
    value = rows[0][KINDS.index(kind)] if rows else None
    if kind == "float" and value is not None:
        value, becomes = repr(float(value)), repr(float(becomes))
    assert ("null" if value is None else value.replace("+00:00", "Z").replace("True", "true")) == becomes


@pytest.mark.promise("files, spreadsheets: Dates of the 1904 system count from 1904, and 29 February 1900 is none")
def test_a_date_of_the_1904_system_counts_from_1904() -> None:
    cell = '<c r="A2" s="1"><v>0</v></c><c r="B2" s="2"><v>44886.3958333333</v></c>'
    rows, _ = rows_of(workbook(cell, "asDate,asTimestamp", settings='date1904="true"'))
    assert rows[0][-2:] == ["1904-01-01", "2026-11-22T09:30:00+00:00"]


@pytest.mark.promise(
    "files, spreadsheets: an option names the time zone; a time that its clocks show twice or not at all is settled or "
    "told"
)
@pytest.mark.parametrize(
    ("serial", "becomes"),
    [
        ("46348.3958333333", "2026-11-22T08:30:00+00:00"),
        ("46218.5", "2026-07-15T10:00:00+00:00"),
        ("46320.1041666667", "2026-10-25T00:30:00+00:00"),  # 2:30 comes twice
        ("46110.1041666667", None),  # 2:30 does not come
    ],
)
def test_a_time_is_that_of_the_zone_of_the_options(serial: str, becomes: str | None) -> None:
    cell = f'<c r="A2" s="2"><v>{serial}</v></c>'
    rows, errors = rows_of(workbook(cell, "asTimestamp"), time_zone="Europe/Berlin")
    assert [row[-1] for row in rows] == ([becomes] if becomes else [])
    assert [error.message for error in errors] == (
        [] if becomes else ["asTimestamp: is 2026-03-29T02:30:00, which the clocks of Europe/Berlin left out"]
    )


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("2026-11-22", "2026-11-21T23:00:00+00:00"),
        ("2026-11-22T09:30:00", "2026-11-22T08:30:00+00:00"),
        ("2026-11-22T09:30:00.1230000Z", "2026-11-22T08:30:00.123000+00:00"),
        ("2026-11-22T09:30:00.1234567+02:00", None),
        ("2026-11-22T09:30:00.0000000+02:00", "2026-11-22T07:30:00+00:00"),
        ("2026-11-22T09:30:00.1234567", None),
        ("20261122T0930", None),
    ],
)
def test_a_cell_with_the_text_of_a_date_is_read_as_a_timestamp(text: str, becomes: str | None) -> None:
    rows, errors = rows_of(workbook(f'<c r="A2" t="d"><v>{text}</v></c>', "asTimestamp"), time_zone="Europe/Berlin")
    assert ([row[-1] for row in rows], len(errors)) == ([becomes] if becomes else [], 0 if becomes else 1)


@pytest.mark.promise(
    "files, spreadsheets: an option names the time zone; a time that its clocks show twice or not at all is settled or "
    "told"
)
@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "/etc/localtime", "Europe"])
def test_an_unknown_time_zone_is_named(name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        read_options(MODEL, {"timeZone": name})
    assert [error.field for error in refused.value.fields] == ["options.timeZone"]


@pytest.mark.promise(
    "files, spreadsheets: an option names the time zone; a time that its clocks show twice or not at all is settled or "
    "told"
)
def test_a_time_zone_is_for_xlsx() -> None:
    with pytest.raises(ValidationError) as refused:
        rows_of(b"asText\r\na\r\n", time_zone="Europe/Berlin")
    assert [error.field for error in refused.value.fields] == ["options.timeZone"]


@pytest.mark.promise(
    "files, spreadsheets: the first visible worksheet is read, and chart sheets are passed over; an option names "
    "another"
)
@pytest.mark.parametrize(
    ("tabs", "options", "text"),
    [
        ("", {}, "1"),
        ('<sheet name="A" r:id="rId1" state="hidden"/><sheet name="B" r:id="rId2"/>', {}, "2"),
        ('<sheet name="A" r:id="rId1" state="veryHidden"/><sheet name="B" r:id="rId2"/>', {}, "2"),
        ('<sheet name="C" r:id="rId3"/><sheet name="B" r:id="rId2"/><sheet name="A" r:id="rId1"/>', {}, "2"),
        ('<sheet name="C" r:id="rId3"/><sheet name="B" r:id="rId2"/>', {"sheet": 1}, "2"),
        ('<sheet name="A" r:id="rId1" state="hidden"/><sheet name="B" r:id="rId2"/>', {"sheet": "a"}, "1"),
        ('<sheet name="A" r:id="rId1" state="hidden"/>', {}, "1"),
    ],
)
def test_the_first_visible_worksheet_is_read(tabs: str, options: dict[str, Any], text: str) -> None:
    rows, errors = rows_of(workbook('<c r="A2"><v>1</v></c>', sheets=tabs or None), **options)
    assert ([row[0] for row in rows], errors) == ([text], [])


@pytest.mark.promise(
    "files, spreadsheets: the first visible worksheet is read, and chart sheets are passed over; an option names "
    "another"
)
def test_an_unknown_sheet_is_reported_with_the_existing_sheets() -> None:
    with pytest.raises(ValidationError) as refused:
        rows_of(workbook(""), sheet="Frist")
    assert "First" in refused.value.fields[0].message


@pytest.mark.promise(
    "files, spreadsheets: each cell of the table in docs/files.md becomes what it says, for each kind of field: dates, "
    "times, fifteen digits, formulas, errors"
)
@pytest.mark.parametrize(
    ("code", "is_date"),
    [
        ("yyyy-mm-dd", True),
        ("[$-407]d. mmmm yyyy;@", True),
        ("[h]:mm", True),
        ("mm:ss.0", True),
        ('0.00 "days"', False),
        ("#,##0.00 [$€-407]", False),
        ("[Red]0.00;-0.00", False),
        ("General", False),
        ("\\d0", False),
        ("@", False),
    ],
)
def test_a_format_shows_a_date_by_its_letters(code: str, is_date: bool) -> None:
    assert is_date_format(code) is is_date


def floats(*values: str) -> list[bytes]:
    """The same floats as CSV, xlsx and Parquet."""
    parquet = io.BytesIO()
    pl.DataFrame({"asFloat": [float(value) for value in values]}).write_parquet(parquet)
    first, *others = (f"<c><v>{value}</v></c>" for value in values)
    rows = "".join(f"<row>{cell}</row>" for cell in others)
    book = repacked(
        workbook(first, "asFloat"),
        lambda name, body: body.replace(b'<row r="1048576"', rows.encode() + b'<row r="1048576"'),
    )
    return ["\r\n".join(["asFloat", *values]).encode(), book, parquet.getvalue()]


@pytest.mark.promise("declarations, values: They are errors of their row in CSV, xlsx and Parquet")
@pytest.mark.parametrize("value", ["1e400", "-1e400", "1" * 400, "inf", "-Infinity", "NaN"])
@pytest.mark.parametrize("form", range(3), ids=["csv", "xlsx", "parquet"])
def test_a_float_that_is_not_finite_is_an_error_of_its_row(form: int, value: str) -> None:
    rows, errors = rows_of(floats("1.5", value, "2.5")[form])
    assert [row[3] for row in rows] == ["1.5", "2.5"]
    assert [[detail.field for detail in error.details] for error in errors] == [["asFloat"]]
    assert [error.row for error in errors] == [3]


@pytest.mark.parametrize("name", ["asDecimal", "asInteger"])
@pytest.mark.parametrize(("value", "is_taken"), [("1e-400", False), ("-1e-400", False), ("0e-400", True)])
def test_a_number_that_is_not_zero_is_not_stored_as_zero(name: str, value: str, is_taken: bool) -> None:
    rows, errors = rows_of(workbook(f"<c><v>{value}</v></c>", name))
    assert len(rows) == is_taken
    assert [[detail.field for detail in error.details] for error in errors] == ([] if is_taken else [[name]])


def test_a_cell_outside_the_table_is_an_error_of_its_row() -> None:
    rows, errors = rows_of(workbook('<c r="A2"><v>1</v></c><c r="CV2"><v>1</v></c>'))
    assert not rows
    assert [error.details for error in errors] == [
        (FieldError("column 100", "has a value, and no name in the header"),)
    ]


@pytest.mark.parametrize(
    "cells",
    ['<c r="A3"><v>1</v></c>', '<c r="A2"><v>1</v></c><c r="A2"><v>1</v></c>', '<c r="1"><v>1</v></c>'],
)
def test_a_cell_at_a_place_that_is_not_its_own_breaks_the_file(cells: str) -> None:
    with pytest.raises(BadRequest, match="damaged"):
        rows_of(workbook(cells))


def test_escaped_characters_of_a_workbook_are_decoded() -> None:
    text = "_x0041__x005F_x0042__xD83D__xDE00__x000D_"
    rows, _ = rows_of(workbook(f'<c r="A2" t="inlineStr"><is><t>{text}</t></is></c>'))
    assert rows[0][0] == "A_x0042_😀\r"


@pytest.mark.promise(
    "files, errors of rows: one NUL, one bad byte, one quote that never ends, one wrong value is an error of its row, "
    "with the number that a person sees"
)
@pytest.mark.parametrize("text", ["a_x0000_", "a_xD83D_"])
def test_a_text_that_no_field_can_hold_is_an_error_of_its_row(text: str) -> None:
    cells = f'<c r="A2" t="inlineStr"><is><t>{text}</t></is></c>'
    rows, errors = rows_of(workbook(cells))
    assert not rows
    assert [detail.field for error in errors for detail in error.details] == ["asText"]


@pytest.mark.promise(
    "files, spreadsheets: a workbook made in LibreOffice, with dates, formulas, an error, merged and hidden cells, is "
    "read as it looks"
)
def test_a_workbook_of_libreoffice_is_read_as_it_looks() -> None:
    """It has dates, formulas, an error, merged cells, a hidden row, column and sheet, and a last row of its own."""
    file = (Path(__file__).parent / "typed" / "typed.xlsx").read_bytes()
    rows, errors = rows_of(file, read_entity(Product), time_zone="Europe/Berlin")
    assert rows == [
        ["Lamp", "LAMP-1", "of two rows", "0.3", "100000", "draft", None, "2026-03-29T07:30:00+00:00", None],
        ["Hidden cup", "CUP-1", None, "2.5", "25000", "draft", None, "2026-11-21T23:00:00+00:00", None],
    ]
    assert errors == [RowError(4, "price: holds the error #DIV/0!", (FieldError("price", "holds the error #DIV/0!"),))]


@pytest.mark.promise(
    "files, spreadsheets: an error cell is an error of its row, and not null; in the header it is named"
)
def test_a_header_that_is_an_error_is_named() -> None:
    file = repacked(
        workbook(""), lambda name, body: body.replace(b't="inlineStr"><is><t>asText</t></is>', b't="e"><v>#REF!</v>')
    )
    with pytest.raises(ValidationError) as refused:
        rows_of(file)
    assert refused.value.fields == (FieldError("column 1", "is named by a cell of row 1 that holds the error #REF!"),)
