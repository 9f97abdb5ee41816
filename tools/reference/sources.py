"""Calls and texts in the source, for pages that list what the code says."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def calls(*folders: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call in the Python files of the folders, with the path of its file; migrations are left out."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "versions" in path.parts:
                continue
            for node in _calls_in(path):
                yield str(path.relative_to(ROOT)), node


@cache  # several pages look through the same files
def _calls_in(path: Path) -> tuple[ast.Call, ...]:
    return tuple(node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))


def text_of(node: ast.expr) -> str | None:
    """Text of a literal; values in an f-string are ``{name}``. None for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(part) for part in node.values)
    return None


def _part(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        return f"{{{ast.unparse(part.value)}}}"
    return str(part.value) if isinstance(part, ast.Constant) else ""
