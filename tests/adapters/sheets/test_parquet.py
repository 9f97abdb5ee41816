"""Parquet of other programs: which types of columns are read, and which are refused by name."""

import io
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import polars as pl
import pytest

from adapters.sheets.parquet import read_parquet
from adapters.sheets.parquet_writer import spool, whole_rows
from adapters.sheets.table import BadRow
from domain.entities.csv_rows import Cells
from domain.entities.registry import build_registry
from domain.entities.sheets import FILE_FORMS, ImportOptions
from domain.errors import ValidationError
from entrypoints.cli.file_commands import _FORMS
from tests.twins.everything import DECLARED

THING = build_registry(DECLARED)["things"]
CODE = "0198c0de-0000-7000-8000-00000000000a"
EAST = timezone(timedelta(hours=3))


def cells_of(frame: pl.DataFrame) -> list[Cells]:
    made = io.BytesIO()
    frame.write_parquet(made)
    header, *rows = read_parquet(made, THING, ImportOptions()).rows
    assert header == (1, frame.columns)
    assert [number for number, _ in rows] == [*range(2, frame.height + 2)]
    return [cells for _, cells in rows if not isinstance(cells, BadRow)]


@pytest.mark.promise(
    "declarations, values: More than six digits of a second are refused, not rounded, in bodies, filters and files"
)
@pytest.mark.promise("files, Parquet: Columns of other programs are read exactly, or refused by name")
@pytest.mark.parametrize(
    ("name", "column", "texts"),
    [
        ("title", pl.Series(["a", "", None]), ["a", "", None]),
        ("title", pl.Series(["a", "b"], dtype=pl.Categorical), ["a", "b"]),
        ("title", pl.Series(["s"], dtype=pl.Enum(["s", "m"])), ["s"]),
        ("title", pl.Series([None], dtype=pl.Null), [None]),
        ("amount", pl.Series([-5, None], dtype=pl.Int8), ["-5", None]),
        ("total", pl.Series([2**64 - 1], dtype=pl.UInt64), ["18446744073709551615"]),
        ("amount", pl.Series([3.0, 3.5, None]), ["3", "3.5", None]),
        ("price", pl.Series([Decimal("12.50"), None], dtype=pl.Decimal(38, 2)), ["12.50", None]),
        ("price", pl.Series([0.1, 12.0]), ["0.1", "12.0"]),
        ("price", pl.Series([0.1], dtype=pl.Float32), ["0.1"]),
        ("ratio", pl.Series([1e308, 5e-324]), ["1e+308", "5e-324"]),
        ("isOpen", pl.Series([True, False, None]), ["true", "false", None]),
        ("day", pl.Series([date(1, 1, 1), None]), ["0001-01-01", None]),
        ("day", pl.Series([datetime(2026, 1, 2), None]), ["2026-01-02", None]),  # noqa: DTZ001  # as pandas has dates
        ("day", pl.Series([datetime(2026, 1, 2, 3, tzinfo=UTC)]), ["2026-01-02T03:00:00.000000Z"]),
        ("seenAt", pl.Series([datetime(2026, 1, 2, 3, tzinfo=EAST), None]), ["2026-01-02T00:00:00.000000Z", None]),
        ("seenAt", pl.Series([datetime(2026, 1, 2)]), ["2026-01-02T00:00:00.000000Z"]),  # noqa: DTZ001  # UTC is taken
        ("seenAt", pl.Series([1_000_001], dtype=pl.Datetime("ns")), ["1970-01-01T00:00:00.001000001Zns"]),
        ("seenAt", pl.Series([1_000_000], dtype=pl.Datetime("ns", "UTC")), ["1970-01-01T00:00:00.001000Z"]),
        ("code", pl.Series([bytes.fromhex(CODE.replace("-", "")), None]), [CODE, None]),
        ("tags", pl.Series([["a", ""], [], None], dtype=pl.List(pl.String)), ['["a",""]', "[]", None]),
        ("tags", pl.Series([["a", "b"]], dtype=pl.Array(pl.String, 2)), ['["a","b"]']),
    ],
)
def test_a_column_is_read_as_the_text_of_its_field(name: str, column: pl.Series, texts: list[str | None]) -> None:
    assert cells_of(pl.DataFrame({name: column})) == [[text] for text in texts]


@pytest.mark.promise("files, Parquet: Columns of other programs are read exactly, or refused by name")
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("title", pl.Series([{"a": 1}])),
        ("title", pl.Series([["a"]])),
        ("title", pl.Series([b"a"])),
        ("title", pl.Series([time(1, 2)])),
        ("title", pl.Series([timedelta(1)])),
        ("tags", pl.Series([[["a"]]])),
        ("tags", pl.Series([[{"a": 1}]])),
        ("tags", pl.Series([[1, 2]])),
    ],
)
def test_odd_and_nested_types_are_refused_by_name(name: str, column: pl.Series) -> None:
    with pytest.raises(ValidationError) as refused:
        cells_of(pl.DataFrame({name: column}))
    (fault,) = refused.value.fields
    assert fault.field == name
    assert "has the type" in fault.message


@pytest.mark.promise("files, Parquet: Columns of other programs are read exactly, or refused by name")
def test_an_ignored_column_may_have_any_type() -> None:
    frame = pl.DataFrame({"createdAt": [{"a": [1]}], "title": ["a"], "version": [b"\xff"]})
    assert cells_of(frame) == [[None, "a", None]]


def test_pieces_are_cut_where_rows_end() -> None:
    row = b'1,"a\n""b""\n"\n'
    rows = row * 300_000
    found = [*whole_rows(iter([rows[n : n + 99_999] for n in range(0, len(rows), 99_999)]))]
    assert b"".join(found) == rows
    assert len(found) > 2
    assert all(piece.endswith(row) and piece.startswith(row) for piece in found)


@pytest.mark.promise(
    "files, Parquet: an export has the types of its fields, and decimals are exact; without rows it is a whole file"
)
@pytest.mark.parametrize(("longest", "rows"), [(10, 10_000), (16 * 1024, 1_024), (2**20, 100)])
def test_row_groups_have_sixteen_megabytes_of_rows_and_not_too_few_rows(longest: int, rows: int) -> None:
    short, long = b"a,b\n" * 300_000, (b"x" * (longest - 1) + b"\n") * max(1, 2**21 // longest)
    assert spool(iter([short, long]), io.BytesIO()).group_rows() == rows


@pytest.mark.promise("files, Parquet: the command line exports and imports by the same rules")
def test_the_command_line_takes_the_formats_that_there_are() -> None:
    assert [*FILE_FORMS] == _FORMS
