"""Numbers that a spreadsheet has rounded when it showed them in scientific notation."""

from decimal import Decimal
from io import BytesIO
from typing import Annotated, Any

import msgspec
import polars as pl
import pytest
from msgspec import Struct

from adapters.sheets.frames import ERRORS, ROWS, Entity, Errors, ReadJob
from adapters.sheets.reader import read
from domain.entities.bodies import EVERY_FIELD
from domain.entities.files.csv_rows import read_rows
from domain.entities.files.options import ImportOptions
from domain.entities.markers import big, entity, money
from domain.entities.registry import build_registry
from tests.adapters.sheets.test_cells import frames
from tests.adapters.sheets.test_hostile_files import xlsx


@entity("parcels")
class Parcel(Struct, kw_only=True):
    number: Annotated[int | None, big] = None
    weight: Annotated[Decimal | None, money(30, 2)] = None
    ratio: float | None = None
    note: str | None = None


PARCELS = build_registry([Parcel])["parcels"]
FIELDS = PARCELS.names
ROUNDED = ["9.0072E+15", "1.23457E+11", "1.0E+12", "-4.5e11", "1.23E+17", "12.5E+10"]
EXACT = {
    "1E3": 1_000,
    "1.5e3": 1_500,
    "1.5E+10": 15_000_000_000,
    "1E+12": 10**12,
    "9.007199254740993E+15": 9_007_199_254_740_993,
    "123456789012": 123_456_789_012,
    "123456789012.0": 123_456_789_012,
}


def read_as(file: bytes) -> tuple[list[dict[str, str | None]], list[str]]:
    """Values of the rows that are taken, and the messages of the others."""
    out = BytesIO()
    job = ReadJob(entity=Entity("not", "loaded", None), options=ImportOptions(), may=EVERY_FIELD)
    read(BytesIO(file), PARCELS, job, out)
    rows: list[dict[str, str | None]] = []
    messages: list[str] = []
    for letter, body in frames(out.getvalue()):
        if letter == ROWS:
            rows += [dict(zip(FIELDS, row[2:], strict=True)) for row in read_rows(body.decode().splitlines(True))]
        if letter == ERRORS:
            messages += [error.message for error in msgspec.json.decode(body, type=Errors).errors]
    return rows, messages


def csv_of(field: str, text: str) -> bytes:
    return f"{field},note\r\n{text},x\r\n1,good\r\n".encode()


def xlsx_of(field: str, text: str) -> bytes:
    """The number as a text of the workbook."""
    return xlsx([[field, "note"], [text, "x"], [1, "good"]])


@pytest.mark.promise("files, errors of rows: a number that a spreadsheet rounded is refused, not stored")
@pytest.mark.parametrize("made", [csv_of, xlsx_of])
@pytest.mark.parametrize("field", ["number", "weight"])
@pytest.mark.parametrize("text", ROUNDED)
def test_a_number_that_a_spreadsheet_rounded_is_an_error_of_its_row(made: Any, field: str, text: str) -> None:
    rows, messages = read_as(made(field, text))
    assert [row["note"] for row in rows] == ["good"]
    assert messages == [f"{field}: is the rounded number {text}: show the column as a number with all of its digits"]


@pytest.mark.parametrize("made", [csv_of, xlsx_of])
@pytest.mark.parametrize("field", ["number", "weight"])
@pytest.mark.parametrize("text", EXACT)
def test_a_number_with_all_of_its_digits_is_taken_in_any_notation(made: Any, field: str, text: str) -> None:
    rows, messages = read_as(made(field, text))
    assert messages == []
    assert Decimal(rows[0][field] or "") == EXACT[text]


@pytest.mark.parametrize("text", [*ROUNDED, "1.7976931348623157E+308"])
def test_floats_and_texts_are_taken_in_scientific_notation(text: str) -> None:
    rows, messages = read_as(f"ratio,note\r\n{text},{text}\r\n".encode())
    assert messages == []
    assert (float(rows[0]["ratio"] or ""), rows[0]["note"]) == (float(text), text)


def test_numbers_of_a_workbook_and_of_parquet_are_exact_whatever_their_notation() -> None:
    parquet = BytesIO()
    pl.DataFrame({"number": [9.0072e15, 1.5e16], "weight": [1.5e16, 1e17]}).write_parquet(parquet)
    for file in (parquet.getvalue(), xlsx([["number", "weight"], [9.0072e15, 1.5e16], [1.5e16, 1e17]])):
        rows, messages = read_as(file)
        assert messages == []
        found = [(int(row["number"] or ""), int(Decimal(row["weight"] or ""))) for row in rows]
        assert found == [(9_007_200_000_000_000, 15 * 10**15), (15 * 10**15, 10**17)]
