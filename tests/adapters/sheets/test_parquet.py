"""Parquet of other programs: which types of columns are read, and which are refused by name.

Parquet files that mean harm, or are merely broken: an error that says what and where, in little memory.
"""

import asyncio
import io
import json
import random
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from adapters.sheets.parquet import read_parquet
from adapters.sheets.parquet_writer import spool, whole_rows
from adapters.sheets.table import BadRow
from domain.entities.declaration import Registry
from domain.entities.files.csv_rows import Cells
from domain.entities.files.options import ImportOptions
from domain.entities.registry import build_registry
from domain.entities.sheets import FILE_FORMS, LARGEST_FILE
from domain.errors import Error, ValidationError
from entrypoints.cli.file_commands import _FORMS
from tests.adapters.sheets.test_hostile_files import seen, watched
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
    "declarations, values: digits of a second beyond the sixth are read where they are zeros, refused where they would "
    "be rounded"
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
def test_the_command_line_offers_every_file_format() -> None:
    assert [*FILE_FORMS] == _FORMS


MOST_MEMORY = 200 * 1024 * 1024


def parquet(frame: pl.DataFrame, **options: Any) -> bytes:
    made = io.BytesIO()
    frame.write_parquet(made, **options)
    return made.getvalue()


def products(count: int) -> pl.DataFrame:
    numbers = pl.select(n=pl.int_range(count)).to_series().cast(pl.String)
    return pl.DataFrame({"name": numbers, "sku": "SKU-" + numbers, "price": [1] * count})


PLAIN = parquet(products(1_000))


def one_text_many_times() -> bytes:
    """A text of 1 MB that 100,000 rows share by a dictionary: 100 GB in a file of kilobytes."""
    text = pl.lit("a" * 2**20, dtype=pl.Categorical)
    return parquet(products(100_000).with_columns(name=text), statistics=False)


def long_texts() -> bytes:
    return parquet(products(110_000).with_columns(name=pl.lit("a" * 2_000)), row_group_size=10_000)


def bomb() -> bytes:
    """A page of 220 MB of one letter."""
    return parquet(products(1).with_columns(name=pl.lit("a" * (220 * 2**20))), statistics=False)


def nulls() -> bytes:
    return parquet(pl.select(name=pl.repeat(None, 20_000_000, dtype=pl.String)))


def footer_of(length: int) -> bytes:
    return PLAIN[:-8] + length.to_bytes(4, "little") + b"PAR1"


def wide() -> bytes:
    return parquet(pl.DataFrame({f"c{n}": [1] for n in range(10_000)}))


def without_pages() -> bytes:
    """A footer that is whole, behind pages that are zeros."""
    footer = int.from_bytes(PLAIN[-8:-4], "little") + 8
    return b"PAR1" + bytes(len(PLAIN) - footer - 4) + PLAIN[-footer:]


FILES: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "the magic alone": (lambda: b"PAR1", "BAD_REQUEST", "end is missing"),
    "half a file": (lambda: PLAIN[: len(PLAIN) // 2], "BAD_REQUEST", "end is missing"),
    "zeros for the first bytes": (lambda: bytes(4) + PLAIN[4:], "BAD_REQUEST", "damaged Parquet: it begins"),
    "letters for the first bytes": (lambda: b"skus" + PLAIN[4:], "BAD_REQUEST", "damaged Parquet: it begins"),
    "a text for the first bytes": (lambda: b"name,sku" + PLAIN[8:], "BAD_REQUEST", "damaged Parquet: it begins"),
    "an encrypted footer": (lambda: b"PARE" + PLAIN[4:-4] + b"PARE", "BAD_REQUEST", "encrypted"),
    "a footer longer than the file": (lambda: footer_of(2**31), "BAD_REQUEST", "longer than the file"),
    "a long footer": (lambda: PLAIN[:4] + bytes(9 * 2**20) + footer_of(9 * 2**20)[-8:], "BAD_REQUEST", "at most"),
    "a footer of zeros": (lambda: PLAIN[:4] + bytes(100) + footer_of(50)[-8:], "BAD_REQUEST", "damaged"),
    "pages of zeros": (without_pages, "BAD_REQUEST", "damaged"),
    "one text many times": (one_text_many_times, "BAD_REQUEST", ""),
    "220 MB of one text": (long_texts, "BAD_REQUEST", "200 MiB"),
    "a page that inflates": (bomb, "BAD_REQUEST", ""),
    "20,000,000 nulls": (nulls, "PAYLOAD_TOO_LARGE", "200000 rows"),
    "too many rows": (lambda: parquet(products(200_001)), "PAYLOAD_TOO_LARGE", "200000 rows"),
    "10,000 columns": (wide, "BAD_REQUEST", "at most 1000"),
    "a struct": (
        lambda: parquet(products(1).with_columns(name=pl.struct("sku", "price"))),
        "VALIDATION_ERROR",
        "has the type Struct",
    ),
    "a column by a pattern": (lambda: parquet(products(1).rename({"name": "^.*$"})), "VALIDATION_ERROR", "^.*$"),
}


@pytest.mark.promise("files, hostile files: a text that thousands of rows share is read in little memory")
@pytest.mark.promise(
    "files, Parquet: Hostile and damaged files are errors within 200 MiB, and an honest file of the largest size is "
    "read, in a single group of rows"
)
@pytest.mark.parametrize("name", FILES)
async def test_a_hostile_parquet_is_refused_in_little_memory(registry: Registry, name: str) -> None:
    make, code, said = FILES[name]
    file, peak = make(), [0]
    watching = asyncio.create_task(watched(peak))
    try:
        with pytest.raises(Error) as refused:
            await seen(registry, file)
    finally:
        watching.cancel()
    told = json.dumps([refused.value.message, *(f"{error.field}: {error.message}" for error in refused.value.fields)])
    assert refused.value.code == code, told
    assert said in told
    assert peak[0] < MOST_MEMORY


@pytest.mark.promise(
    "files, Parquet: Hostile and damaged files are errors within 200 MiB, and an honest file of the largest size is "
    "read, in a single group of rows"
)
@pytest.mark.parametrize("dry_run", [False, True])
async def test_an_honest_file_of_the_largest_size_is_read_though_it_is_one_group_of_rows(
    registry: Registry, dry_run: bool
) -> None:
    chance, peak = random.Random(1), [0]
    texts = [f"{chance.getrandbits(8 * 1_275):0{2 * 1_275}x}" for _ in range(20_000)]
    frame = products(20_000).with_columns(description=pl.Series(texts))
    file = parquet(frame, row_group_size=20_000, compression="uncompressed", statistics=False)
    assert 0.97 < len(file) / LARGEST_FILE < 1
    watching = asyncio.create_task(watched(peak))
    found = await seen(registry, file, dry_run=dry_run)
    watching.cancel()
    assert not found.errors
    assert (found.rows.count(b"\n"), found.rows.count(texts[-1].encode())) == (20_000, 1)
    assert peak[0] < MOST_MEMORY


@pytest.mark.promise(
    "files, Parquet: Hostile and damaged files are errors within 200 MiB, and an honest file of the largest size is "
    "read, in a single group of rows"
)
@pytest.mark.parametrize("seed", range(8))
async def test_a_damaged_parquet_is_an_error_of_the_file_or_of_its_rows(registry: Registry, seed: int) -> None:
    chance, file = random.Random(seed), bytearray(PLAIN)
    for _ in range(chance.choice((1, 3, 30))):
        file[chance.randrange(4, len(file) - 8)] = chance.randrange(256)
    try:
        found = await seen(registry, bytes(file))
    except Error as error:
        assert error.code in {"BAD_REQUEST", "VALIDATION_ERROR", "PAYLOAD_TOO_LARGE"}  # noqa: PT017  # or none is raised
    else:
        assert found.rows or found.errors


async def test_a_text_that_ends_as_a_parquet_does_is_a_text(registry: Registry) -> None:
    found = await seen(registry, b"price,name,sku\r\n1,Lamp,PAR1")
    assert b"PAR1" in found.rows
    assert not found.errors
