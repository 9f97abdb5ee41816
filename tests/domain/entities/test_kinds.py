"""Every table by the kinds of fields has a record for each kind."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.entities.kinds import KINDS, Kind

ROOT = Path(__file__).parents[3]
FOLDERS = ("domain", "application", "adapters", "entrypoints", "documentation")


def _kind(node: ast.AST | None) -> str | None:
    is_kind = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Kind"
    return node.attr if is_kind and isinstance(node, ast.Attribute) else None


def _places() -> Iterator[tuple[str, ast.AST]]:
    for file in (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))):
        text = file.read_text("utf-8")
        if "Kind." in text:
            for node in ast.walk(ast.parse(text)):
                yield f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", node


def test_each_table_by_kind_has_every_kind() -> None:
    known = {kind.name for kind in Kind}
    tables = {
        place: {name for key in node.keys if (name := _kind(key))}
        for place, node in _places()
        if isinstance(node, ast.Dict) and any(map(_kind, node.keys))
    }
    assert len(tables) >= 8
    assert {place: known - names for place, names in tables.items() if names != known} == {}


def test_kinds_are_not_listed_beside_the_tables() -> None:
    """A list of kinds passes a new kind over in silence: use a family of ``kinds`` or ``match`` with assert_never."""
    lists = (
        place
        for place, node in _places()
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and len([*filter(_kind, node.elts)]) > 1
    )
    assert list(lists) == []


@pytest.mark.parametrize("kind", Kind)
def test_a_kind_with_bits_is_a_whole_number(kind: Kind) -> None:
    assert (KINDS[kind].bits is not None) is (KINDS[kind].python is int)
