"""File formats: read and written outside the event loop, as a whole or not at all."""

import asyncio
import io
import tempfile
import time
from collections.abc import AsyncIterator
from typing import BinaryIO

import pytest

from adapters.sheets.processes import ProcessSheets
from application.ports.entities.files import ImportRequest, Sheets
from domain.entities.csv_rows import read_rows, written
from domain.entities.declaration import Registry
from domain.entities.query.query import WHOLE
from domain.entities.sheets import ImportOptions, RowError, exported_columns
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


async def read(sheets: Sheets, registry: Registry, body: bytes, **options: object) -> tuple[list[str], list[RowError]]:
    reading = ImportRequest(ImportOptions(**options))  # type: ignore[arg-type]
    with upload(body) as file:
        async with sheets.read(registry["products"], file, reading) as sheet:
            text = b"".join([piece async for piece in sheet.rows()]).decode()
            assert sheet.failed >= len(sheet.errors)
    return text.splitlines(), [*sheet.errors]


@pytest.mark.parametrize("count", [3, 30_000], ids=["little", "much"])
async def test_valid_rows_come_as_the_database_takes_them(sheets: Sheets, registry: Registry, count: int) -> None:
    lines, errors = await read(sheets, registry, HEADER + b"A,AAA,1.5\r\n" * count)
    assert not errors
    assert len(lines) == count
    (first,) = read_rows(io.StringIO(lines[0]))
    assert [first[0], *first[2:]] == ["2", "A", "AAA", None, "1.5", "0", "draft", None, None]


@pytest.mark.parametrize("count", [3, 30_000], ids=["little", "much"])
async def test_the_loop_serves_others_meanwhile(sheets: Sheets, registry: Registry, count: int) -> None:
    longest = [0.0]

    async def beat() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            longest[0] = max(longest[0], time.perf_counter() - started)

    beating = asyncio.create_task(beat())
    await read(sheets, registry, HEADER + b"A,AAA,1.5\r\n" * count)
    beating.cancel()
    assert longest[0] < 0.5


async def test_files_that_come_at_once_are_each_read_whole(sheets: Sheets, registry: Registry) -> None:
    counts = [1, 500, 2, 30_000, 3]
    found = await asyncio.gather(*(read(sheets, registry, HEADER + b"A,AAA,1.5\r\n" * count) for count in counts))
    assert [len(lines) for lines, _ in found] == counts


async def test_for_an_upsert_a_row_says_what_was_given_and_what_it_lacks(sheets: Sheets, registry: Registry) -> None:
    lines, errors = await read(sheets, registry, b"sku,stock\r\nAAA,5\r\nBBB,\r\nbad,1\r\n", mode="upsert", key="sku")
    rows = list(read_rows(io.StringIO("\n".join(lines))))
    assert [row[2] for row in rows] == ["01001000", "01000000"]
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
        cells = ["0198c0de-0000-7000-8000-00000000000a", "A", "AAA", description, "12.50", "3", "draft", *[None] * 10]
        yield written(cells).encode()


async def workbook(sheets: Sheets, registry: Registry, *descriptions: str) -> bytes:
    columns = exported_columns(registry, registry["products"], WHOLE, shows_tenant=False)
    async with sheets.workbook(columns, rows(*descriptions)) as pieces:
        return b"".join([piece async for piece in pieces])


async def test_a_workbook_is_read_back_as_it_was_written(sheets: Sheets, registry: Registry) -> None:
    made = await workbook(sheets, registry, "=1+1", "x" * 10_000, "😀 '")
    lines, errors = await read(sheets, registry, made)
    found = [cells[4] for cells in read_rows(io.StringIO("\n".join(lines)))]
    assert not errors
    assert found == ["=1+1", "x" * 10_000, "😀 '"]


@pytest.mark.parametrize("text", ["x" * 32_768, "😀" * 16_384, "a\ufffe"])
async def test_text_that_no_cell_holds_is_refused_before_the_first_byte(
    sheets: Sheets, registry: Registry, text: str
) -> None:
    with pytest.raises(BadRequest, match="Row 3"):
        await workbook(sheets, registry, "fine", text)
