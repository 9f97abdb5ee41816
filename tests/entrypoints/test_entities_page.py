"""docs/entities.md: its blocks are one file that can be served, and show every marker, argument and type."""

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tenantry
from domain.entities import markers
from domain.entities.declaration import Registry
from domain.entities.kinds import Kind
from entrypoints.assembly.entities import load_registry
from tests.entrypoints.processes import ROOT

_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SOURCE = "\n\n".join(_PYTHON.findall((ROOT / "docs" / "entities.md").read_text()))
MARKERS: tuple[Callable[..., Any], ...] = (
    markers.entity,
    markers.ref,
    markers.money,
    markers.guarded,
    markers.unique,
    markers.many,
    markers.index,
    markers.label,
    markers.help_text,
    markers.widget,
)


@pytest.fixture
def shop(tmp_path: Path) -> Registry:
    file = tmp_path / "shop.py"
    file.write_text(SOURCE)
    return load_registry([str(file)])


@pytest.mark.promise(
    "declarations, documentation: docs/entities.md shows every argument, type, marker and word for deletions, and is a "
    "file that can be served"
)
def test_the_page_is_a_file_that_can_be_served(shop: Registry) -> None:
    assert len(shop.models) == 11
    assert shop.oddities == ()


@pytest.mark.promise(
    "declarations, documentation: docs/entities.md shows every argument, type, marker and word for deletions, and is a "
    "file that can be served"
)
def test_every_type_is_shown(shop: Registry) -> None:
    assert {field.kind for field in shop["samples"].declared} == set(Kind)


@pytest.mark.promise(
    "declarations, documentation: docs/entities.md shows every argument, type, marker and word for deletions, and is a "
    "file that can be served"
)
def test_every_word_for_deletions_is_shown(shop: Registry) -> None:
    shown = {relation.on_delete for model in shop for relation in model.relations.values()}
    assert shown == {"restrict", "cascade", "clear"}


@pytest.mark.promise(
    "declarations, documentation: docs/entities.md shows every argument, type, marker and word for deletions, and is a "
    "file that can be served"
)
def test_every_marker_with_every_argument_is_shown() -> None:
    calls = [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.Call)]
    for marker in MARKERS:
        own = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == marker.__name__]
        assert own, f"docs/entities.md does not show {marker.__name__}()"
        given = {keyword.arg for call in own for keyword in call.keywords}
        positional = max(len(call.args) for call in own)
        missing = [name for name in list(inspect.signature(marker).parameters)[positional:] if name not in given]
        assert [name for name in missing if name != "fields"] == [], f"arguments of {marker.__name__}()"
    exported = {name for name in tenantry.__all__ if hasattr(markers, name)}
    assert exported == {marker.__name__ for marker in MARKERS} | {"big"}
