"""Files that mean harm, or are merely broken: an error that says what and where, in little memory."""

import asyncio
import gzip
import io
import json
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
import xlsxwriter

from adapters.sheets.processes import ProcessSheets
from application.ports.entities.files import ImportRequest
from domain.entities.declaration import Registry
from domain.entities.files.options import ImportOptions
from domain.entities.sheets import RowError
from domain.errors import BadRequest, Error

MOST_MEMORY = 100 * 1024 * 1024
HEADER = b"name,sku,price\r\n"
TYPES = b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'


def xlsx(rows: list[list[object]], **more: bytes) -> bytes:
    made = io.BytesIO()
    book = xlsxwriter.Workbook(made, {"strings_to_formulas": False})
    sheet = book.add_worksheet("First")
    for number, row in enumerate(rows):
        for place, cell in enumerate(row):
            if cell is not None:
                sheet.write(number, place, cell)
    book.close()
    if more:
        with zipfile.ZipFile(made, "a", zipfile.ZIP_DEFLATED) as archive:
            for name, body in more.items():
                archive.writestr(name, body)
    return made.getvalue()


def repacked(file: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(file)) as before, packing(made, "w") as after:
        for entry in before.infolist():
            after.writestr(entry.filename, change(entry.filename, before.read(entry.filename)))
    return made.getvalue()


def packing(made: io.BytesIO, mode: Literal["a", "w"]) -> zipfile.ZipFile:
    """By the quickest level: what a file inflates to is what counts here."""
    return zipfile.ZipFile(made, mode, zipfile.ZIP_DEFLATED, compresslevel=1)


TOO_LARGE = 210
"""MiB that a part inflates to where that is refused: a little more than is let in."""

PLAIN = xlsx([["name", "sku", "price"], ["A", "AAA", 1]])
SHEET = "xl/worksheets/sheet1.xml"


def bomb() -> bytes:
    """About a megabyte that inflates to 210."""
    made = io.BytesIO(PLAIN)
    with packing(made, "a") as archive, archive.open("xl/media/image1.bin", "w") as part:
        for _ in range(TOO_LARGE):
            part.write(bytes(1024 * 1024))
    return made.getvalue()


def bomb_in_sheet() -> bytes:
    text = b"<is><t>" + b"a" * (TOO_LARGE * 1024 * 1024) + b"</t></is>"
    return repacked(PLAIN, lambda name, body: body.replace(b"<v>1</v>", text) if name == SHEET else body)


def lying() -> bytes:
    """Both directories say that a part of 80 MB has ten bytes."""
    body = zlib.compress(bytes(80 * 1024 * 1024), 9)[2:-4]
    made = io.BytesIO(PLAIN)
    with zipfile.ZipFile(made, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("xl/media/image1.bin", body)
    file = bytearray(made.getvalue())
    local, central = file.rfind(b"PK\x03\x04"), file.rfind(b"PK\x01\x02")
    for place in (local + 8, central + 10):
        file[place : place + 2] = struct.pack("<H", zipfile.ZIP_DEFLATED)
    for place in (local + 22, central + 24):
        file[place : place + 4] = struct.pack("<I", 10)
    return bytes(file)


def far_away() -> bytes:
    """One cell at the sheet's last corner: a reader that makes room for all cells before it dies."""
    cell = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    return repacked(PLAIN, lambda name, body: body.replace(b"</sheetData>", cell) if name == SHEET else body)


def far_below() -> bytes:
    cell = b'<row r="1048576"><c r="CV1048576"><v>1</v></c></row></sheetData>'
    return repacked(PLAIN, lambda name, body: body.replace(b"</sheetData>", cell) if name == SHEET else body)


def entities() -> bytes:
    doctype = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>'
    declared = doctype + b"<worksheet"
    return repacked(PLAIN, lambda name, body: body.replace(b"<worksheet", declared) if name == SHEET else body)


def encrypted() -> bytes:
    file = bytearray(PLAIN)
    place = file.find(b"PK\x01\x02")
    file[place + 8] |= 1
    return bytes(file)


def wide() -> bytes:
    return ",".join(f"c{n}" for n in range(10_000)).encode() + b"\r\n"


def wide_xlsx() -> bytes:
    return xlsx([[f"c{n}" for n in range(10_000)]])


FILES: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "an empty file": (lambda: b"", "BAD_REQUEST", "empty"),
    "a zip bomb": (bomb, "BAD_REQUEST", "200 MiB (xl/media/image1.bin)"),
    "a bomb in the sheet": (bomb_in_sheet, "BAD_REQUEST", "200 MiB"),
    "lying sizes": (lying, "BAD_REQUEST", "lies about its sizes (xl/media/image1.bin)"),
    "a nested archive": (lambda: xlsx([["sku"]], **{"xl/embeddings/a.bin": PLAIN}), "BAD_REQUEST", "another archive"),
    "declared entities": (entities, "BAD_REQUEST", f"entities ({SHEET})"),
    "macros": (lambda: xlsx([["sku"]], **{"xl/vbaProject.bin": b"x"}), "BAD_REQUEST", "macros (xl/vbaProject.bin)"),
    "an encrypted zip": (encrypted, "BAD_REQUEST", "encrypted"),
    "an encrypted document": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "BAD_REQUEST", "password"),
    "an archive of something else": (lambda: zipped({"a.txt": b"x"}), "BAD_REQUEST", "no xlsx"),
    "half an xlsx": (lambda: PLAIN[: len(PLAIN) // 2], "BAD_REQUEST", "damaged"),
    "a cell at the last corner": (far_away, "BAD_REQUEST", "columns"),
    "10,000 columns": (wide, "VALIDATION_ERROR", "10000 columns"),
    "10,000 columns in a sheet": (wide_xlsx, "BAD_REQUEST", "at most 1000"),
    "a line of 40 MB": (lambda: HEADER + b"x" * 40_000_000, "BAD_REQUEST", "longer than"),
    "a header of 40 MB": (lambda: b"x" * 40_000_000, "BAD_REQUEST", "longer than"),
    "a quote that never ends": (
        lambda: HEADER + b'"' + b"abc,\n" * 2_000_000,
        "BAD_REQUEST",
        "Row 3 follows a quote that never ends",
    ),
    "many quotes that never end": (
        lambda: HEADER + b'b",",c\n' * 2_000_000,
        "BAD_REQUEST",
        "too many rows with quotes that never end",
    ),
    "too many rows": (lambda: HEADER + b'"A"b,AAA,1\r\n' * 200_001, "PAYLOAD_TOO_LARGE", "200000 rows"),
    "something that is no sheet": (lambda: b"%PDF-1.7\n" + bytes(range(128)), "BAD_REQUEST", "another format"),
}


def zipped(parts: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, body in parts.items():
            archive.writestr(name, body)
    return made.getvalue()


@dataclass
class Seen:
    rows: bytes
    errors: list[RowError]


async def seen(registry: Registry, file: bytes, **options: Any) -> Seen:
    rows = b""
    with tempfile.TemporaryFile() as upload:
        upload.write(file)
        upload.flush()
        upload.seek(0)
        reading = ImportRequest(ImportOptions(**options))
        async with ProcessSheets().read(registry["products"], upload, reading) as sheet:
            async for piece in sheet.rows():
                rows += piece
    return Seen(rows, list(sheet.errors))


def resident(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    peak = re.search(r"^VmHWM:\s+(\d+)", status, re.MULTILINE)
    return int(peak[1]) * 1024 if peak else 0


def children() -> Iterator[int]:
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended meanwhile
            yield from map(int, (task / "children").read_text().split())


def watched(peak: list[int]) -> "Coroutine[None, None, None]":
    """Measures the processes that are started from now on, and not those of tests that ran before."""
    others = set(children())

    async def watch() -> None:
        known: list[int] = []
        while True:
            # to look for processes takes many times as long as to ask those that are known
            sizes = {pid: resident(pid) for pid in known or set(children()) - others}
            known = [pid for pid, size in sizes.items() if size]
            peak[0] = max(peak[0], sum(sizes.values()))
            await asyncio.sleep(0.005)

    return watch()


@pytest.mark.promise(
    "files, hostile files: XML is scanned by a streaming parser within limits: declared entities, depth, tags, "
    "attributes, quotes of either kind and prefixes take little time and memory"
)
@pytest.mark.promise(
    "files, hostile files: Archives that inflate, lie about sizes, hold archives, macros or a password are refused "
    "with the reason"
)
@pytest.mark.parametrize("name", FILES)
async def test_a_hostile_file_is_refused_in_little_memory(registry: Registry, name: str) -> None:
    make, code, said = FILES[name]
    file, peak = make(), [0]
    watching = asyncio.create_task(watched(peak))
    try:
        with pytest.raises(Error) as refused:
            await seen(registry, file)
    finally:
        watching.cancel()
    told = json.dumps([refused.value.message, *(field.message for field in refused.value.fields)])
    assert refused.value.code == code, told
    assert said in told
    assert peak[0] < MOST_MEMORY


@pytest.mark.promise(
    "files, spreadsheets: the empty last row that LibreOffice writes is passed over, and a cell far below is an error "
    "of its row"
)
async def test_a_cell_far_below_is_an_error_of_its_row(registry: Registry) -> None:
    """Rows are read one by one, so that nothing is made for those between."""
    found = await seen(registry, far_below())
    assert b'"A","AAA",,1' in found.rows
    assert [(error.row, error.message) for error in found.errors] == [
        (1_048_576, "column 100: has a value, and no name in the header")
    ]


NO_TEXTS = {
    "zeros": bytes(1_000),
    "gzip": gzip.compress(HEADER * 100),
    "a photo": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\r\n",
    "a drawing": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "a PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "JSON": b'\xef\xbb\xbf [\n  {"name": "A", "sku": "AAA", "price": 1}\n]\n',
    "a JSON object": b'{"items": [{"name": "A"}]}',
}


@pytest.mark.parametrize("name", NO_TEXTS)
async def test_a_file_that_is_not_text_is_refused_as_no_known_format(registry: Registry, name: str) -> None:
    with pytest.raises(BadRequest, match="neither CSV, xlsx nor Parquet"):
        await seen(registry, NO_TEXTS[name])


BAD_ROWS: dict[str, tuple[bytes, str, list[str]]] = {
    "a byte that is no UTF-8": (b"B\xff,BBB,1", "has bytes that are not utf-8", []),
    "a NUL in the middle": (b"B\0b,BBB,1", "name: contains a character", ["name"]),
    "a quote that never ends": (b'"B,BBB,1', "has a quote that never ends", []),
    "a quote in the middle that never ends": (b'B,"BBB,1', "has a quote that never ends", []),
    "text behind a quoted cell": (b'"B"b,BBB,1', "has text between a quoted cell", []),
    "a row that is too short": (b"B,BBB", "has 2 cells where the header has 3", []),
    "a row that is too long": (b"B,BBB,1,2", "has 4 cells where the header has 3", []),
    "a wrong value": (b"B,wrong,x", "sku: ", ["sku", "price"]),
}


@pytest.mark.promise(
    "files, errors of rows: one NUL, one bad byte, one quote that never ends, one wrong value is an error of its row, "
    "with the number that a person sees"
)
@pytest.mark.parametrize("name", BAD_ROWS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_one_bad_cell_of_a_csv_is_an_error_of_its_row(registry: Registry, name: str, encoding: str) -> None:
    row, message, fields = BAD_ROWS[name]
    file = HEADER + b"A,AAA,1\r\n" + row + b'\r\nC,CCC,3\r\n"two\r\nlines",DDD,4\r\nE,bad,5\r\n'
    if encoding == "utf-16":
        file = file.decode("utf-8", "surrogateescape").encode("utf-16", "surrogatepass")
    found = await seen(registry, file)
    assert re.findall(rb'"([A-Z]{3})"', found.rows) == [b"AAA", b"CCC", b"DDD"]
    assert [error.row for error in found.errors] == [3, 6]
    assert found.errors[0].message.startswith(message) or "not utf-16" in found.errors[0].message
    assert [detail.field for detail in found.errors[0].details] == fields


@pytest.mark.promise(
    "files, errors of rows: one NUL, one bad byte, one quote that never ends, one wrong value is an error of its row, "
    "with the number that a person sees"
)
async def test_the_rest_of_a_broken_text_is_not_taken_for_a_row(registry: Registry) -> None:
    found = await seen(registry, HEADER + b'"two\r\nlines"x,AAA,1\r\nB,BBB,1\r\n')
    assert [error.row for error in found.errors] == [2, 3]
    assert found.rows.count(b"\n") == 1
    assert b'"BBB"' in found.rows


async def test_a_header_with_bad_bytes_breaks_the_file(registry: Registry) -> None:
    with pytest.raises(Error, match="Row 1 has bytes that are not utf-8"):
        await seen(registry, b"n\xff,sku,price\r\nA,AAA,1\r\n")


@pytest.mark.promise(
    "files, hostile files: Little text of many wrong rows is not read where others are served, and a wrong row that "
    "nobody is told of takes no longer than a good one"
)
async def test_little_text_of_many_wrong_rows_is_not_read_where_others_are_served(registry: Registry) -> None:
    """Each wrong row costs as much as several right ones."""
    peak = [0]
    watching = asyncio.create_task(watched(peak))
    found = await seen(registry, b"name\n" + b"a\n" * 10_000)
    watching.cancel()
    assert len(found.errors) == 1_000
    assert peak[0] > 0


async def test_ignored_columns_may_contain_any_text(registry: Registry) -> None:
    found = await seen(registry, b"createdBy,name,sku,price\r\n'\0,A,AAA,1\r\n,'=B,BBB,1\r\n")
    assert not found.errors
    assert b'"A","AAA",,1' in found.rows
    assert b'"=B","BBB",,1' in found.rows


async def test_formulas_of_a_stranger_are_text(registry: Registry) -> None:
    found = await seen(registry, HEADER + b"=1+1,AAA,1\r\n'=cmd,BBB,1\r\n")
    assert b'"=1+1"' in found.rows
    assert b'"=cmd"' in found.rows


@pytest.mark.promise(
    "files, errors of rows: one NUL, one bad byte, one quote that never ends, one wrong value is an error of its row, "
    "with the number that a person sees"
)
async def test_rows_are_counted_as_a_person_sees_them(registry: Registry) -> None:
    file = b'name,sku,price\r\n"two\nlines",AAA,1\r\n\r\nB,wrong,1\r\n'
    assert [error.row for error in (await seen(registry, file)).errors] == [4]
    sheet = xlsx([[], [], ["name", "sku", "price"], ["A", "AAA", 1], [], ["B", "wrong", 1]])
    assert [error.row for error in (await seen(registry, sheet)).errors] == [6]


@pytest.mark.parametrize(
    ("file", "options"),
    [
        (b"name;sku;price\r\n\xc3\x89;AAA;1\r\n", {}),
        (b"name\tsku\tprice\n\xc3\x89\tAAA\t1\n", {}),
        ("name,sku,price\r\nÉ,AAA,1\r\n".encode("utf-16"), {}),
        ("name,sku,price\r\nÉ,AAA,1\r\n".encode("utf-16-le"), {}),
        ("name,sku,price\r\nÉ,AAA,1\r\n".encode("utf-16-le"), {"encoding": "utf-16"}),
        ("name,sku,price\r\nÉ,AAA,1\r\n".encode("utf-16-be"), {"encoding": "UTF16"}),
        ("name,sku,price\r\nÉ,AAA,1\r\n".encode("utf-32-be"), {"encoding": "utf-32"}),
        (b"\xef\xbb\xbfname,sku,price\r\n\xc3\x89,AAA,1\r\n", {}),
        ("name,sku,price\r\nÉ,AAA,1\r\n".encode("cp1252"), {"encoding": "windows-1252"}),
        (b"Bezeichnung!SKU!Price\r\n\xc3\x89!AAA!1\r\n", {"delimiter": "!", "columns": {"bezeichnung": "name"}}),
        (xlsx([["name", "sku", "price"], ["É", "AAA", 1]]), {"sheet": "first"}),
        (xlsx([["name", "sku", "price"], ["É", "AAA", "1.00"]]), {"sheet": 1}),
    ],
)
async def test_a_sheet_is_read_by_what_it_is(registry: Registry, file: bytes, options: dict[str, object]) -> None:
    found = await seen(registry, file, **options)
    assert not found.errors
    assert '"É","AAA",,1'.encode() in found.rows
