"""Files in which most rows are wrong: all are counted, the first are explained, and the rest take little time.

Cells with lists: what is wrong in one is the error of its row, and the rows beside it are read.

Entity files that the reading process cannot load: the uploaded file is not blamed for them.
"""

import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from uuid import UUID

import msgspec
import pytest
from msgspec import Meta, Struct

from adapters.sheets.frames import ERRORS, HEAD, ROWS, Entity, Errors, ReadJob
from adapters.sheets.processes import ProcessSheets
from adapters.sheets.reader import read
from adapters.sheets.row_text import NO_TEXT
from application.entities.declaration_files import import_file
from application.ports.entities.files import ImportRequest
from domain.entities.bodies import EVERY_FIELD
from domain.entities.declaration import Registry
from domain.entities.files.csv_rows import read_rows
from domain.entities.files.options import ImportOptions, Mode
from domain.entities.markers import entity, unique
from domain.entities.registry import build_registry, read_entity
from domain.entities.sheets import MOST_ERRORS

HEADER = b"name,sku,price,stock,status,releasedAt,categoryId\r\n"
GOOD = b"A,SKU-1,1,1,draft,,\r\n"
KINDS = (
    b"A,bad,x,y,z,never,nope\r\n",
    b"A,bad,1,1,draft,,\r\n",
    b"A,SKU-1,1.234,1,draft,,\r\n",
    b"A,SKU-1,1,1,draft,2026-11-22T09:30:00.1234567Z,\r\n",
    b"A,SKU-1,1,1,draft,,{0198c0de-0000-7000-8000-000000000000}\r\n",
)
"""Rows that are wrong by their type, a pattern, an amount, a time and an id."""


def found(registry: Registry, rows: bytes, mode: Mode = "create") -> tuple[int, Errors]:
    """Number of rows for the database, and the errors."""
    out = io.BytesIO()
    job = ReadJob(entity=Entity("not", "loaded", None), options=ImportOptions(mode=mode), may=EVERY_FIELD)
    read(io.BytesIO(HEADER + rows), registry["products"], job, out)
    lines, errors = 0, Errors(0, ())
    for letter, body in frames(out.getvalue()):
        lines += sum(1 for _ in read_rows(io.StringIO(body.decode(), newline=""))) if letter == ROWS else 0
        errors = msgspec.json.decode(body, type=Errors) if letter == ERRORS else errors
    return lines, errors


def frames(said: bytes) -> Iterator[tuple[bytes, bytes]]:
    while said:
        letter, length = HEAD.unpack(said[: HEAD.size])
        yield letter, said[HEAD.size : HEAD.size + length]
        said = said[HEAD.size + length :]


@pytest.mark.promise(
    "declarations, values: digits of a second beyond the sixth are read where they are zeros, refused where they would "
    "be rounded"
)
@pytest.mark.promise("declarations, values: a UUID has one spelling in body, path, filter and file")
@pytest.mark.promise("files, errors of rows: details names field and message apart")
@pytest.mark.parametrize("mode", ["create", "upsert"])
def test_every_wrong_row_is_counted_and_the_first_are_explained(registry: Registry, mode: Mode) -> None:
    block = b"".join(kind + GOOD for kind in KINDS)
    lines, errors = found(registry, block * 400, mode)
    assert (lines, errors.failed, len(errors.errors)) == (2_000, 2_000, MOST_ERRORS)
    assert [error.row for error in errors.errors] == list(range(2, 2 + 2 * MOST_ERRORS, 2))
    # the last five are explained as the first five are
    assert [error.details for error in errors.errors[-5:]] == [error.details for error in errors.errors[:5]]
    assert all(error.details and error.message for error in errors.errors)


def seconds(registry: Registry, row: bytes) -> float:
    """CPU time for many such rows behind as many wrong ones as are explained."""
    rows = KINDS[0] * MOST_ERRORS + row * 10_000
    begun = time.process_time()
    found(registry, rows)
    return time.process_time() - begun


@pytest.mark.promise(
    "files, hostile files: Little text of many wrong rows is not read where others are served, and a wrong row that "
    "nobody is told of takes no longer than a good one"
)
def test_a_wrong_row_past_the_reported_ones_is_read_as_fast_as_a_good_row(registry: Registry) -> None:
    # the least of three: what else runs on the machine only adds to it
    good, wrong = (min(seconds(registry, row) for _ in range(3)) for row in (GOOD, KINDS[0]))
    assert wrong < 2 * good


@entity("wordlists", unique=[unique("name")])
class Wordlist(Struct, rename="camel", kw_only=True):
    name: str
    words: Annotated[list[str], Meta(max_length=10)]
    ids: Annotated[list[UUID], Meta(max_length=10)]


MODEL = build_registry([Wordlist])["wordlists"]
NUL = "\\u0000"
WRONG = {
    "brackets": ("[" * 5_000, "[]", [("words", "expected a list, got text")]),
    "brackets that end": ("[" * 5_000 + "]" * 5_000, "[]", [("words", "expected a list, got text")]),
    "brackets of ids": ("[]", "[" * 5_000, [("ids", "expected a list, got text")]),
    "objects": ('{"a":' * 5_000, "[]", [("words", "expected a list, got text")]),
    "NUL": (f'["a","a{NUL}b"]', "[]", [("words[1]", NO_TEXT)]),
    "NUL in several": (f'["{NUL}","{NUL}"]', "[]", [("words[0]", NO_TEXT), ("words[1]", NO_TEXT)]),
    "half a character": ('["\\ud800"]', "[]", [("words", "expected a list, got text")]),
}


def cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def found_of_list_cells(rows: list[tuple[str, str]], mode: Mode = "create") -> tuple[int, Errors]:
    """Number of rows for the database, and the errors."""
    lines = (f"N,{cell(words)},{cell(ids)}\r\n" for words, ids in rows)
    out, file = io.BytesIO(), io.BytesIO(("name,words,ids\r\n" + "".join(lines)).encode())
    read(
        file,
        MODEL,
        ReadJob(entity=Entity("not", "loaded", None), options=ImportOptions(mode=mode), may=EVERY_FIELD),
        out,
    )
    said = list(frames(out.getvalue()))
    return sum(_lines(body) for letter, body in said if letter == ROWS), next(_errors(said), Errors(0, ()))


def _lines(body: bytes) -> int:
    return sum(1 for _ in read_rows(io.StringIO(body.decode(), newline="")))


def _errors(said: list[tuple[bytes, bytes]]) -> Iterator[Errors]:
    yield from (msgspec.json.decode(body, type=Errors) for letter, body in said if letter == ERRORS)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("mode", ["create", "upsert"])
def test_what_no_list_can_be_is_an_error_of_its_row(wrong: str, mode: Mode) -> None:
    words, ids, told = WRONG[wrong]
    lines, errors = found_of_list_cells([('["a"]', "[]"), (words, ids), ('["b"]', "[]")], mode)
    assert (lines, errors.failed) == (2, 1)
    (error,) = errors.errors
    assert (error.row, [(field.field, field.message) for field in error.details]) == (3, told)


def test_an_escaped_backslash_before_u0000_is_not_a_nul() -> None:
    assert found_of_list_cells([(r'["\\u0000", "\u00e9"]', "[]")]) == (1, Errors(0, ()))


DECLARES = """
import os
from tenantry import entity
from msgspec import Struct

SHELF = {shelf}

@entity("books")
class Book(Struct):
    title: str
"""
ROWS_OF_ENTITY_FILES = b"title\n" + b"Persuasion\n" * 6_000
"""Text of more lines than a thread of the service reads."""


async def imported(file: Path) -> int:
    model = read_entity(import_file(file).Book)
    with tempfile.TemporaryFile() as upload:
        upload.write(ROWS_OF_ENTITY_FILES)
        upload.flush()
        async with ProcessSheets().read(model, upload, ImportRequest(ImportOptions())) as sheet:
            return sum([piece.count(b"\n") async for piece in sheet.rows()])


async def test_a_declaration_that_lacks_a_variable_is_not_an_error_of_the_upload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOKS_SHELF", "north")
    file = tmp_path / "books.py"
    file.write_text(DECLARES.format(shelf='os.environ["BOOKS_SHELF"]'))
    with pytest.raises(RuntimeError, match=r"could not load Book of .*books\.py"):
        await imported(file)


async def test_a_variable_with_a_default_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKS_SHELF", "north")
    file = tmp_path / "books.py"
    file.write_text(DECLARES.format(shelf='os.environ.get("BOOKS_SHELF", "south")'))
    assert await imported(file) == 6_000
