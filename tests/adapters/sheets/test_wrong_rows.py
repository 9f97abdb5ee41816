"""Files in which most rows are wrong: all are counted, the first are explained, and the rest take little time."""

import io
import time
from collections.abc import Iterator

import msgspec
import pytest

from adapters.sheets.frames import ERRORS, HEAD, ROWS, Entity, Errors, ReadJob
from adapters.sheets.reader import read
from domain.entities.bodies import EVERY_FIELD
from domain.entities.csv_rows import read_rows
from domain.entities.declaration import Registry
from domain.entities.sheets import MOST_ERRORS, ImportOptions, Mode

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
    "declarations, values: More than six digits of a second are refused, not rounded, in bodies, filters and files"
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
def test_a_wrong_row_that_nobody_is_told_of_takes_no_longer_than_a_good_one(registry: Registry) -> None:
    # the least of three: what else runs on the machine only adds to it
    good, wrong = (min(seconds(registry, row) for _ in range(3)) for row in (GOOD, KINDS[0]))
    assert wrong < 2 * good
