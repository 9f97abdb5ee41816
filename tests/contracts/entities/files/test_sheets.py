"""File formats: read and written outside the event loop, as a whole or not at all."""

import asyncio
import io
import tempfile
import time
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

import polars as pl
import pytest

from adapters.sheets.processes import ProcessSheets, shows_its_lines
from application.ports.entities.files import ImportRequest, Sheets
from domain.entities.declaration import Registry
from domain.entities.files.csv_rows import read_rows, written
from domain.entities.files.options import ImportOptions
from domain.entities.query.query import WHOLE
from domain.entities.sheets import BuiltForm, RowError, exported_columns
from domain.errors import BadRequest, PayloadTooLarge, ValidationError

HEADER = b"name,sku,price\r\n"


@pytest.fixture
def sheets() -> Sheets:
    return ProcessSheets()


def upload(body: bytes) -> BinaryIO:
    file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115  # the test's own
    file.write(body)
    file.flush()
    file.seek(0)
    return file


async def read(sheets: Sheets, registry: Registry, body: bytes, **options: Any) -> tuple[list[str], list[RowError]]:
    reading = ImportRequest(ImportOptions(**options))
    with upload(body) as file:
        async with sheets.read(registry["products"], file, reading) as sheet:
            text = b"".join([piece async for piece in sheet.rows()]).decode()
            assert sheet.failed >= len(sheet.errors)
    return text.splitlines(), [*sheet.errors]


@pytest.mark.parametrize("count", [3, 10_000], ids=["little", "much"])
async def test_valid_rows_are_read_in_the_form_that_the_database_accepts(
    sheets: Sheets, registry: Registry, count: int
) -> None:
    lines, errors = await read(sheets, registry, HEADER + b"A,AAA,1.5\r\n" * count)
    assert not errors
    assert len(lines) == count
    (first,) = read_rows(io.StringIO(lines[0]))
    assert [first[0], *first[2:]] == ["2", "A", "AAA", None, "1.5", "0", "draft", None, None, None]


@pytest.mark.promise(
    "files, hostile files: Little text of many wrong rows is not read where others are served, and a wrong row that "
    "nobody is told of takes no longer than a good one"
)
@pytest.mark.parametrize("count", [3, 10_000], ids=["little", "much"])
async def test_the_loop_serves_others_meanwhile(sheets: Sheets, registry: Registry, count: int) -> None:
    longest, began = [0.0], time.perf_counter()

    async def beat() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            longest[0] = max(longest[0], time.perf_counter() - started)

    beating = asyncio.create_task(beat())
    await read(sheets, registry, HEADER + b"A,AAA,1.5\r\n" * count)
    beating.cancel()
    # a loop that read the file itself would be away for all of the time
    assert longest[0] < max(0.5, (time.perf_counter() - began) / 2)


async def test_concurrent_files_are_each_read_completely(sheets: Sheets, registry: Registry) -> None:
    counts = [1, 500, 2, 10_000, 3]
    found = await asyncio.gather(*(read(sheets, registry, HEADER + b"A,AAA,1.5\r\n" * count) for count in counts))
    assert [len(lines) for lines, _ in found] == counts


async def test_an_upserted_row_contains_the_given_fields_and_the_missing_ones(
    sheets: Sheets, registry: Registry
) -> None:
    lines, errors = await read(sheets, registry, b"sku,stock\r\nAAA,5\r\nBBB,\r\nbad,1\r\n", mode="upsert", key="sku")
    rows = list(read_rows(io.StringIO("\n".join(lines))))
    assert [row[2] for row in rows] == ["010010000", "010000000"]
    assert all("price: is required" in (row[3] or "") for row in rows)
    assert [error.row for error in errors] == [4]


async def test_errors_are_counted_past_those_that_are_listed(sheets: Sheets, registry: Registry) -> None:
    with upload(HEADER + b"A,bad,1\r\n" * 1_500) as file:
        async with sheets.read(registry["products"], file, ImportRequest(ImportOptions())) as sheet:
            assert [piece async for piece in sheet.rows()] == []
    assert (sheet.failed, len(sheet.errors)) == (1_500, 1_000)


async def test_what_is_wrong_with_a_file_is_raised(sheets: Sheets, registry: Registry) -> None:
    with pytest.raises(ValidationError):
        await read(sheets, registry, b"nothing,of,it\r\n")
    with pytest.raises(BadRequest):
        await read(sheets, registry, b"")
    with pytest.raises(PayloadTooLarge):
        await read(sheets, registry, HEADER + b"A,AAA,1\r\n" * 200_001)


async def rows(*descriptions: str) -> AsyncIterator[bytes]:
    for description in descriptions:
        cells = ["0198c0de-0000-7000-8000-00000000000a", "A", "AAA", description, "12.50", "3", "draft", *[None] * 11]
        yield written(cells).encode()


async def workbook(sheets: Sheets, registry: Registry, *descriptions: str, form: BuiltForm = "xlsx") -> bytes:
    columns = exported_columns(registry, registry["products"], WHOLE, shows_tenant=False)
    async with sheets.write(columns, rows(*descriptions), form) as pieces:
        return b"".join([piece async for piece in pieces])


@pytest.mark.promise(
    "files, Parquet: an import after an export changes nothing, by CSV, xlsx and Parquet, in memory and in PostgreSQL"
)
@pytest.mark.parametrize("form", ["xlsx", "parquet"])
async def test_a_built_file_is_read_back_as_it_was_written(sheets: Sheets, registry: Registry, form: BuiltForm) -> None:
    made = await workbook(sheets, registry, "=1+1", "x" * 10_000, "😀 '", form=form)
    lines, errors = await read(sheets, registry, made)
    found = [cells[4] for cells in read_rows(io.StringIO("\n".join(lines)))]
    assert not errors
    assert found == ["=1+1", "x" * 10_000, "😀 '"]


@pytest.mark.parametrize("text", ["x" * 32_768, "😀" * 16_384, "a\ufffe"])
async def test_text_that_a_cell_cannot_store_is_refused_before_the_first_byte(
    sheets: Sheets, registry: Registry, text: str
) -> None:
    with pytest.raises(BadRequest, match="Row 3"):
        await workbook(sheets, registry, "fine", text)


async def test_parquet_can_store_text_that_an_xlsx_cell_cannot(sheets: Sheets, registry: Registry) -> None:
    texts = ["", "a\ufffe", "two\nlines", "'=1"]
    lines, _ = await read(sheets, registry, await workbook(sheets, registry, *texts, form="parquet"))
    assert [cells[4] for cells in read_rows(io.StringIO("\n".join(lines)))] == texts


@pytest.mark.promise(
    "files, Parquet: an export has the types of its fields, and decimals are exact; without rows it is a whole file"
)
async def test_parquet_has_the_types_of_the_fields(sheets: Sheets, registry: Registry) -> None:
    schema = pl.read_parquet(await workbook(sheets, registry, "fine", form="parquet")).schema
    assert [*schema] == [
        column.name for column in exported_columns(registry, registry["products"], WHOLE, shows_tenant=False)
    ]
    assert schema["price"] == pl.Decimal(12, 2)
    assert schema["stock"] == pl.Int32
    assert schema["isDeleted"] == pl.Boolean
    assert schema["createdAt"] == pl.Datetime("us", "UTC")
    assert {schema[name] for name in ("id", "name", "status", "categoryId")} == {pl.String()}


@pytest.mark.promise(
    "files, Parquet: an export has the types of its fields, and decimals are exact; without rows it is a whole file"
)
async def test_an_export_without_rows_is_a_whole_parquet_file(sheets: Sheets, registry: Registry) -> None:
    made = await workbook(sheets, registry, form="parquet")
    assert pl.read_parquet(made).height == 0
    assert await read(sheets, registry, made) == ([], [])


def parquet(rows: bytes) -> bytes:
    """The rows of a CSV as a Parquet file, with the types that polars finds in them."""
    made = io.BytesIO()
    pl.read_csv(rows).write_parquet(made)
    return made.getvalue()


WRONG = b"name,sku,price\nA,AAA,1.5\nB,wrong,1\nC,CCC,-1\n,DDD,2.125\n"


@pytest.mark.promise("files, Parquet: Options, numbers of rows and errors are those of the other formats")
async def test_rows_have_the_same_numbers_and_errors_in_csv_and_parquet(sheets: Sheets, registry: Registry) -> None:
    lines, errors = await read(sheets, registry, WRONG)
    same_lines, same_errors = await read(sheets, registry, parquet(WRONG))
    assert same_errors == errors
    assert [error.row for error in errors] == [3, 4, 5]
    # The second cell is a new id.
    assert [line.split(",")[2:4] for line in same_lines] == [line.split(",")[2:4] for line in lines]


@pytest.mark.promise("files, Parquet: Options, numbers of rows and errors are those of the other formats")
async def test_an_upsert_from_parquet_contains_the_given_fields(sheets: Sheets, registry: Registry) -> None:
    lines, errors = await read(sheets, registry, parquet(b"sku,stock\nAAA,5\nbad,1\n"), mode="upsert", key="sku")
    (row,) = read_rows(io.StringIO("\n".join(lines)))
    assert row[2] == "010010000"
    assert "price: is required" in (row[3] or "")
    assert [error.row for error in errors] == [3]


@pytest.mark.promise("files, Parquet: Options, numbers of rows and errors are those of the other formats")
@pytest.mark.parametrize(
    ("rows", "options", "field"),
    [
        (b"name,sku,nothing\nA,AAA,1\n", {}, "nothing"),
        (b"name,sku,price\nA,AAA,1\n", {"columns": {"title": "name"}}, "options.columns.title"),
        (b"name,sku,price\nA,AAA,1\n", {"sheet": 1}, "options.sheet"),
        (b"name,sku,price\nA,AAA,1\n", {"delimiter": ";"}, "options.delimiter"),
        (b"name,sku,price\nA,AAA,1\n", {"encoding": "utf-8"}, "options.encoding"),
    ],
)
async def test_unknown_columns_and_options_of_other_formats_are_named(
    sheets: Sheets, registry: Registry, rows: bytes, options: dict[str, object], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        await read(sheets, registry, parquet(rows), **options)
    assert [error.field for error in refused.value.fields] == [field]


@pytest.mark.promise("files, Parquet: Options, numbers of rows and errors are those of the other formats")
async def test_columns_of_parquet_are_renamed_and_server_owned_ones_ignored(sheets: Sheets, registry: Registry) -> None:
    file = parquet(b"createdAt,Bezeichnung,SKU,price\nnonsense,A,AAA,1\n")
    lines, errors = await read(sheets, registry, file, columns={"bezeichnung": "name"})
    assert not errors
    assert next(read_rows(io.StringIO(lines[0])))[2:4] == ["A", "AAA"]


LATER = {"columns": {"PARENT": "stock"}}
EBCDIC = "name,sku,price\n".encode("cp037") + "A,AAA,1\n".encode("cp037") * 5_000
CSV_FILES: dict[str, tuple[bytes, dict[str, Any], int]] = {
    "a first name that begins as Parquet does": (b"PARENT,name,sku,price\n,A,AAA,1\n", LATER, 1),
    "blank lines before the header": (b"\n\nname;sku;price\nA;AAA;1\n", {}, 1),
    "rows of delimiters alone": (b"name;sku;price\nA;AAA;1\n;;\n;;\n", {}, 1),
    "a mark beside its encoding's order": (
        "\ufeffname,sku,price\nA,AAA,1\n".encode("utf-16-le"),
        {"encoding": "utf-16-le"},
        1,
    ),
    "many lines in EBCDIC": (EBCDIC, {"encoding": "cp037"}, 5_000),
}


@pytest.mark.parametrize("name", list(CSV_FILES))
async def test_csv_is_read_however_it_is_written(sheets: Sheets, registry: Registry, name: str) -> None:
    body, options, count = CSV_FILES[name]
    lines, errors = await read(sheets, registry, body, **options)
    assert errors == []
    assert len(lines) == count


@pytest.mark.parametrize("encoding", ["cp037", "unicode_escape", "utf-7", "utf-16", "rot13", "no such"])
async def test_an_encoding_with_hidden_line_breaks_is_read_in_a_process(encoding: str) -> None:
    assert not shows_its_lines(encoding)


@pytest.mark.parametrize("encoding", [None, "utf-8", "latin-1", "cp1252", "utf-8-sig", "cp932"])
async def test_an_encoding_with_visible_line_breaks_may_be_read_in_place(encoding: str | None) -> None:
    assert shows_its_lines(encoding)
