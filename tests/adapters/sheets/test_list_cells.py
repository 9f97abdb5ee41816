"""Cells with lists: what is wrong in one is the error of its row, and the rows beside it are read."""

import io
from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

import msgspec
import pytest
from msgspec import Meta, Struct

from adapters.sheets.frames import ERRORS, ROWS, Entity, Errors, ReadJob
from adapters.sheets.reader import read
from adapters.sheets.row_text import NO_TEXT
from domain.entities.bodies import EVERY_FIELD
from domain.entities.csv_rows import read_rows
from domain.entities.markers import entity, unique
from domain.entities.registry import build_registry
from domain.entities.sheets import ImportOptions, Mode
from tests.adapters.sheets.test_wrong_rows import frames


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


def found(rows: list[tuple[str, str]], mode: Mode = "create") -> tuple[int, Errors]:
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
    lines, errors = found([('["a"]', "[]"), (words, ids), ('["b"]', "[]")], mode)
    assert (lines, errors.failed) == (2, 1)
    (error,) = errors.errors
    assert (error.row, [(field.field, field.message) for field in error.details]) == (3, told)


def test_an_escaped_backslash_is_no_nul() -> None:
    assert found([(r'["\\u0000", "\u00e9"]', "[]")]) == (1, Errors(0, ()))
