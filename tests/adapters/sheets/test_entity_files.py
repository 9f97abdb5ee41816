"""Entity files that the reading process cannot load: the uploaded file is not blamed for them."""

import tempfile
from pathlib import Path

import pytest

from adapters.sheets.processes import ProcessSheets
from application.entities.declaration_files import import_file
from application.ports.entities.files import ImportRequest
from domain.entities.registry import read_entity
from domain.entities.sheets import ImportOptions

DECLARES = """
import os
from tenantry import entity
from msgspec import Struct

SHELF = {shelf}

@entity("books")
class Book(Struct):
    title: str
"""
ROWS = b"title\n" + b"Persuasion\n" * 6_000
"""Text of more lines than a thread of the service reads."""


async def imported(file: Path) -> int:
    model = read_entity(import_file(file).Book)
    with tempfile.TemporaryFile() as upload:
        upload.write(ROWS)
        upload.flush()
        async with ProcessSheets().read(model, upload, ImportRequest(ImportOptions())) as sheet:
            return sum([piece.count(b"\n") async for piece in sheet.rows()])


async def test_a_variable_that_the_reading_process_lacks_is_no_fault_of_the_upload(
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
