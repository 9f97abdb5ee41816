"""Users' files by path: one module for each, whatever way its path is written, and nothing left of one that failed."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from adapters.sheets.declarations import entity_of, model_of
from application.entities.declaration_files import file_of, import_file
from domain.entities.registry import read_entity

BOOKS = """
from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from domain.entities.markers import entity


@dataclass
class Shelf:
    books: list[Book]


@entity("books")
class Book(Struct):
    title: str
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """In a folder whose name is no name of a module."""
    folder = tmp_path / "a shop.v1"
    folder.mkdir()
    made = folder / f"{tmp_path.name}.py"
    made.write_text(BOOKS)
    return made


def test_a_file_is_one_module_whatever_way_its_path_is_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_file(file)
    link = file.parent / "link.py"
    link.symlink_to(file)
    monkeypatch.chdir(file.parent)
    assert import_file(Path(file.name)) is module
    assert import_file(link) is module
    assert importlib.import_module(module.__name__) is module
    assert file_of(module.__name__) == file.resolve()


def test_files_of_the_same_name_are_two_modules_and_shadow_no_other(file: Path, tmp_path: Path) -> None:
    for name in (file.name, "json.py"):
        (tmp_path / name).write_text("ENTITIES = ()")
    assert import_file(tmp_path / file.name) is not import_file(file)
    assert import_file(tmp_path / "json.py") is not importlib.import_module("json")
    assert file_of("json") is None


def test_annotations_written_as_text_find_their_names(file: Path) -> None:
    shelf = msgspec.json.decode(b'{"books": [{"title": "Emma"}]}', type=import_file(file).Shelf)
    assert shelf.books[0].title == "Emma"


def test_a_file_that_failed_is_read_again(file: Path) -> None:
    file.write_text("ENTITIES = 1 / 0")
    with pytest.raises(ZeroDivisionError):
        import_file(file)
    file.write_text("ENTITIES = (1, 2)  # mended")
    assert import_file(file).ENTITIES == (1, 2)


def test_another_process_finds_the_same_declaration(file: Path) -> None:
    """As the processes do that read sheets."""
    model = read_entity(import_file(file).Book)
    entity = entity_of(model)
    assert model_of(entity).struct is model.struct
    said = subprocess.run(
        [sys.executable, "-c", WORKER],
        input=msgspec.json.encode(entity),
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        check=True,
    ).stdout
    assert said.decode().split() == [entity.module, "Book"]


WORKER = """
import sys
import msgspec
from adapters.sheets.declarations import model_of
from adapters.sheets.frames import Entity
struct = model_of(msgspec.json.decode(sys.stdin.buffer.read(), type=Entity)).struct
print(struct.__module__, struct.__name__)
"""


def test_a_file_that_has_just_changed_is_read_again(tmp_path: Path) -> None:
    """Its size and its time are those of before, by which Python would take what it had compiled."""
    file = tmp_path / "just_changed.py"  # a name that no other test imports
    for kind in ("str", "int"):
        file.write_text(f"KIND = '{kind}'\n")
        os.utime(file, (1_700_000_000, 1_700_000_000))
        module = import_file(file)
        assert kind == module.KIND
        del sys.modules[module.__name__]
    assert not (tmp_path / "__pycache__").exists()


ROUTES = """
from {books} import Book
from {books}_shelf import COLOUR
from {books}_package.rows import NUMBER
"""


class Project(NamedTuple):
    """A folder that is not on the path: files that are named, and what they import, each under a name of its own."""

    folder: Path
    books: str

    def file(self, name: str) -> Path:
        return self.folder / f"{self.books}{name}.py"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path, tmp_path.name)
    made.file("").write_text(BOOKS)
    made.file("_shelf").write_text("COLOUR = 'red'")
    made.file("_routes").write_text(ROUTES.format(books=made.books))
    package = tmp_path / f"{made.books}_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "rows.py").write_text("NUMBER = 7")
    monkeypatch.setattr(sys, "path", [*sys.path])
    return made


@pytest.mark.parametrize("first", ["", "_routes"])
@pytest.mark.parametrize("is_on_path", [False, True])
def test_declaration_files_can_import_each_other_and_neighbouring_modules(
    project: Project, first: str, *, is_on_path: bool
) -> None:
    """Each of them once: two classes of one entity would be two entities."""
    if is_on_path:
        sys.path.append(str(project.folder))
    import_file(project.file(first))
    routes = import_file(project.file("_routes"))
    assert (routes.COLOUR, routes.NUMBER) == ("red", 7)
    assert routes.Book is import_file(project.file("")).Book is importlib.import_module(project.books).Book


def test_a_module_that_was_imported_by_its_name_before_is_that_of_its_file(project: Project) -> None:
    """As by a test of a project, or by the application that the plugin is in."""
    sys.path.append(str(project.folder))
    book = importlib.import_module(project.books).Book
    assert import_file(project.file("")).Book is book
    assert import_file(project.file("_routes")).Book is book


def test_a_module_next_to_a_file_does_not_replace_a_library_module(project: Project) -> None:
    (project.folder / "colorsys.py").write_text("")
    import_file(project.file(""))
    assert importlib.import_module("colorsys").__file__ != str(project.folder / "colorsys.py")


def test_an_error_in_an_imported_file_is_raised_in_the_importing_file(project: Project) -> None:
    project.file("").write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        import_file(project.file("_routes"))
