"""Texts of a file in another language: decimal commas, dates, words for true and false, and the row of the header."""

import io
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import polars as pl
import pytest
from msgspec import Struct

from adapters.sheets.frames import ERRORS, READY, ROWS, Entity, Errors, ReadJob
from adapters.sheets.reader import read
from domain.entities.bodies import EVERY_FIELD
from domain.entities.files.csv_rows import read_rows
from domain.entities.files.options import ImportOptions, read_options
from domain.entities.files.suggestions import Suggested
from domain.entities.markers import big, entity, money
from domain.entities.registry import build_registry
from domain.entities.sheets import FileHeader
from domain.errors import ValidationError
from tests.adapters.sheets.test_cells import frames
from tests.adapters.sheets.test_hostile_files import xlsx


@entity("sales")
class Sale(Struct, rename="camel", kw_only=True):
    price: Annotated[Decimal | None, money(12, 2)] = None
    quantity: Annotated[int | None, big] = None
    ratio: float | None = None
    sold_on: date | None = None
    sold_at: datetime | None = None
    is_open: bool | None = None
    note: str | None = None


SALES = build_registry([Sale])["sales"]
GERMAN: dict[str, Any] = {"decimal": ",", "dateFormat": "DD.MM.YYYY"}


class Read(Struct):
    rows: list[dict[str, str]]
    errors: list[str]
    header: FileHeader | None = None


def read_as(file: bytes, **options: Any) -> Read:
    out = io.BytesIO()
    job = ReadJob(entity=Entity("not", "loaded", None), options=read_options(SALES, options), may=EVERY_FIELD)
    read(io.BytesIO(file), SALES, job, out)
    found = Read([], [])
    for letter, body in frames(out.getvalue()):
        if letter == ROWS:
            lines = read_rows(body.decode().splitlines(keepends=True))
            found.rows += [
                {n: v for n, v in zip(SALES.names, line[2:], strict=True) if v is not None} for line in lines
            ]
        elif letter == ERRORS:
            found.errors += [f"{e.row}: {e.message}" for e in msgspec.json.decode(body, type=Errors).errors]
        elif letter == READY and body:
            found.header = msgspec.json.decode(body, type=FileHeader)
    return found


def csv_of(field: str, text: str) -> bytes:
    return f'note;{field}\r\nx;"{text}"\r\n'.encode()


def xlsx_of(field: str, text: str) -> bytes:
    return xlsx([["note", field], ["x", text]])


FILES = pytest.mark.parametrize("made", [csv_of, xlsx_of])


@pytest.mark.promise(
    "files, spreadsheets: options name the decimal sign, the format of dates and the row of the header"
)
@FILES
@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("price", "12,50", "12.50"),
        ("price", "-1.250,5", "-1250.5"),
        ("price", "1.250.000", "1250000"),
        ("price", " 12 ", "12"),
        ("price", ",5", ".5"),
        ("quantity", "1.234.567", "1234567"),
        ("quantity", "12,0", "12"),
        ("ratio", "0,25", "0.25"),
        ("ratio", "2,5E-3", "0.0025"),
        ("soldOn", "22.11.2026", "2026-11-22"),
        ("soldOn", " 1.3.2026 ", "2026-03-01"),
        ("soldOn", "2026-11-22", "2026-11-22"),
        ("soldAt", "22.11.2026 09:30:00 +01:00", "2026-11-22T08:30:00+00:00"),
        ("soldAt", "2026-11-22T08:30:00Z", "2026-11-22T08:30:00+00:00"),
    ],
)
def test_a_german_number_or_date_is_read(made: Any, field: str, text: str, value: str) -> None:
    found = read_as(made(field, text), **GERMAN)
    assert found.errors == []
    name = SALES.by_wire[field.lower()].name
    is_number = field in ("price", "quantity", "ratio")
    assert (Decimal(found.rows[0][name]) == Decimal(value)) if is_number else (found.rows[0][name] == value)


@FILES
@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("price", "12.50", "is no number with a decimal comma: 12.50"),
        ("price", "1.25,0", "is no number with a decimal comma: 1.25,0"),
        ("quantity", "1,234.5", "is no number with a decimal comma"),
        ("quantity", "1.2345", "is no number with a decimal comma"),
        ("price", "9,0072E+15", "is the rounded number 9.0072E+15"),
        ("price", "zwölf", "must be a number in plain digits"),
        ("soldOn", "11/22/2026", "is no date of the format DD.MM.YYYY: 11/22/2026"),
        ("soldOn", "31.2.2026", "must be a date such as 2026-11-20"),
        ("soldOn", "22.11.26", "is no date of the format DD.MM.YYYY"),
        ("soldAt", "22.11.2026 09:30", "must be a timestamp with a zone"),
    ],
)
def test_a_number_or_date_of_another_country_is_an_error_of_its_row(
    made: Any, field: str, text: str, message: str
) -> None:
    found = read_as(made(field, text), **GERMAN)
    assert found.rows == []
    (error,) = found.errors
    assert error.startswith(f"2: {field}: ")
    assert message in error


@pytest.mark.parametrize(
    ("date_format", "text"),
    [
        ("MM/DD/YYYY", "3/1/2026"),
        ("YYYY/MM/DD", "2026/03/01"),
        ("DD-MM-YYYY", "01-03-2026"),
        ("YYYY-DD-MM", "2026-01-03"),
    ],
)
def test_a_format_of_dates_has_its_parts_in_any_order(date_format: str, text: str) -> None:
    found = read_as(csv_of("soldOn", text), dateFormat=date_format)
    assert (found.errors, found.rows[0]["sold_on"]) == ([], "2026-03-01")


@pytest.mark.parametrize("date_format", ["", "DD.MM.YY", "DD.MM/YYYY", "DD.DD.YYYY", "DDMMYYYY", "DD MM YYYY", "x"])
def test_an_unknown_format_of_dates_is_named(date_format: str) -> None:
    with pytest.raises(ValidationError) as refused:
        read_options(SALES, {"dateFormat": date_format})
    assert [error.field for error in refused.value.fields] == ["options.dateFormat"]


@FILES
@pytest.mark.parametrize(
    ("text", "value"),
    [("WAHR", True), ("falsch", False), ("Ja", True), ("nein", False), ("yes", True), ("No", False), ("TRUE", True)],
)
def test_words_for_true_and_false_are_read_in_english_and_german(made: Any, text: str, value: bool) -> None:
    assert read_as(made("isOpen", text)).rows[0]["is_open"] == str(value)


@FILES
@pytest.mark.parametrize("text", ["1", "x", "richtig", "t"])
def test_other_words_are_neither_true_nor_false(made: Any, text: str) -> None:
    assert len(read_as(made("isOpen", text)).errors) == 1


def test_numbers_and_dates_of_a_workbook_need_no_option_and_take_any() -> None:
    found = read_as(xlsx([["price", "quantity"], [12.5, 1234], ["1.250,50", "7"]]), **GERMAN)
    assert (found.errors, [row["price"] for row in found.rows]) == ([], ["12.5", "1250.50"])


@pytest.mark.parametrize("name", ["decimal", "dateFormat", "headerRow"])
def test_parquet_takes_no_spelling(name: str) -> None:
    made = io.BytesIO()
    pl.DataFrame({"price": [1.5]}).write_parquet(made)
    with pytest.raises(ValidationError) as refused:
        read_as(made.getvalue(), **{name: {**GERMAN, "headerRow": 2}[name]})
    assert [error.field for error in refused.value.fields] == [f"options.{name}"]


REPORT = [
    ["Sales of November"],
    [],
    ["created", "22.11.2026"],
    ["note", "price", "soldOn"],
    ["x", "12.50", "2026-11-22"],
]


def text_of(rows: list[list[str]], delimiter: str = ";") -> bytes:
    return "".join(f"{delimiter.join(row)}\r\n" for row in rows).encode()


@pytest.mark.promise(
    "files, spreadsheets: options name the decimal sign, the format of dates and the row of the header"
)
@pytest.mark.parametrize(
    "file", [text_of(REPORT), text_of(REPORT, "\t"), text_of(REPORT, ","), xlsx([list(row) for row in REPORT])]
)
def test_the_header_may_be_in_a_later_row(file: bytes) -> None:
    with pytest.raises(ValidationError):
        read_as(file)
    dry = read_as(file, dryRun=True)
    assert dry.header is not None
    assert dry.header.suggested == Suggested(header_row=4)
    found = read_as(file, headerRow=4)
    assert (found.errors, found.rows) == ([], [{"note": "x", "price": "12.50", "sold_on": "2026-11-22"}])


@pytest.mark.parametrize("file", [text_of(REPORT), xlsx([list(row) for row in REPORT])])
@pytest.mark.parametrize("row", [2, 6, 1_000])
def test_a_row_of_the_header_without_names_is_refused(file: bytes, row: int) -> None:
    for is_dry in (False, True):
        with pytest.raises(ValidationError) as refused:
            read_as(file, headerRow=row, dryRun=is_dry)
        assert [error.field for error in refused.value.fields] == ["options.headerRow"]


def test_rows_before_the_header_may_be_broken() -> None:
    file = b'Report "Q4" of x\r\n"a"b;\xff\r\nnote;price\r\nx;1\r\ny\r\n'
    found = read_as(file, headerRow=3)
    assert (found.errors, len(found.rows)) == (["5: has 1 cells where the header has 2"], 1)


SUGGESTED_GERMAN = Suggested(decimal=",", date_formats=("DD.MM.YYYY",))
SUGGESTED = {
    "a German file": (b"price;soldOn\r\n12,50;22.11.2026\r\n1.000;1.3.2026\r\n", SUGGESTED_GERMAN),
    "a German workbook": (xlsx([["price", "soldOn"], ["12,50", "22.11.2026"], [3.5, "1.3.2026"]]), SUGGESTED_GERMAN),
    "an American file": (b"price,soldOn\r\n12.50,11/22/2026\r\n", Suggested(date_formats=("MM/DD/YYYY",))),
    "dates of which nobody knows": (b"soldOn\r\n1/2/2026\r\n", Suggested(date_formats=("DD/MM/YYYY", "MM/DD/YYYY"))),
    "times": (b"soldAt\r\n22.11.2026 09:30 +01:00\r\n", Suggested(date_formats=("DD.MM.YYYY",))),
    "Windows-1252": ("note;price\r\nGröße;1\r\n".encode("cp1252"), Suggested(encoding="windows-1252")),
    "a header in Windows-1252": ("Größe;price\r\nx;1\r\n".encode("cp1252"), Suggested(encoding="windows-1252")),
    "an English file": (b"price,soldOn,note\r\n12.50,2026-11-22,\"1,5\"\r\n", Suggested()),
    "commas and points": (b"price;note\r\n12,50;x\r\n12.50;x\r\n", Suggested()),
    "no such day": (b"soldOn\r\n31.2.2026\r\n", Suggested()),
    "commas in texts": (b"note;quantity\r\n12,50;1\r\n", Suggested()),
    "UTF-8": ("note;price\r\nGröße;1\r\n".encode(), Suggested()),
    "UTF-16": ("note;price\r\nGröße;1\r\n".encode("utf-16"), Suggested()),
}  # fmt: skip


@pytest.mark.promise("files, transfers: the header suggests the options that the file seems to need")
@pytest.mark.parametrize("name", SUGGESTED)
def test_a_dry_run_suggests_options_and_these_suit(name: str) -> None:
    file, suggested = SUGGESTED[name]
    header = read_as(file, dryRun=True).header
    assert header is not None
    assert header.suggested == suggested
    options = {
        "encoding": suggested.encoding,
        "decimal": suggested.decimal,
        "dateFormat": next(iter(suggested.date_formats), None),
    }
    given = {option: value for option, value in options.items() if value is not None}
    again = read_as(file, dryRun=True, **given)
    assert again.header is not None
    assert again.header.suggested == Suggested()
    if given and name != "a header in Windows-1252":
        assert again.errors == []


@pytest.mark.promise("files, errors of rows: a whole number that may have a point between thousands is refused")
@FILES
@pytest.mark.parametrize("text", ["1.000", "12.500", "-999.999", "1.234.567", " 1.000 "])
def test_a_whole_number_with_a_point_before_three_digits_needs_the_option_decimal(made: Any, text: str) -> None:
    file, plain = made("quantity", text), text.strip()
    assert (found := read_as(file)).rows == []
    hint = "set the option decimal to '.' or ','"
    assert found.errors == [f"2: quantity: may have a point between thousands: {plain}; {hint}"]
    assert read_as(file, decimal=",").rows[0]["quantity"] == plain.replace(".", "")
    if plain.endswith(".000"):
        assert read_as(file, decimal=".").rows[0]["quantity"] == plain[:-4]


@FILES
@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("quantity", "1000", "1000"),
        ("quantity", "1.0", "1"),
        ("quantity", "0.000", "0"),
        ("quantity", "1000.000", "1000"),
        ("price", "1.500", "1.500"),
        ("ratio", "1.500", "1.5"),
        ("note", "1.000", "1.000"),
    ],
)
def test_other_numbers_with_a_point_are_read_without_the_option_decimal(
    made: Any, field: str, text: str, value: str
) -> None:
    file = f"{field}\r\n{text}\r\n".encode() if made is csv_of else xlsx([[field], [text]])
    found = read_as(file)
    name = SALES.by_wire[field.lower()].name
    assert (found.errors, [row[name] for row in found.rows]) == ([], [value])


def test_the_defaults_are_those_of_json() -> None:
    assert (ImportOptions().decimal, ImportOptions().date_format, ImportOptions().header_row) == (None, None, None)
    for field, text in (("price", "12,50"), ("soldOn", "22.11.2026"), ("quantity", "1.234.567")):
        assert len(read_as(csv_of(field, text)).errors) == 1
