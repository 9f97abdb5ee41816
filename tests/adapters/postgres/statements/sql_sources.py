"""SQL in the source of an adapter, found by its syntax tree: literal statements, and text pieced together.

The rule: text that never varies is one literal, everything else is SQLAlchemy Core. ruff's S608 sees only text that
looks like a whole statement; this sees clauses too, and what is handed to a connection.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
POSTGRES = ROOT / "adapters" / "postgres"

# keywords in capitals, as our SQL has them and prose has not
STATEMENT = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\s")
CLAUSE = re.compile(
    r"\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|FROM|WHERE|VALUES|ORDER BY|GROUP BY|LIMIT|JOIN|RETURNING|EXISTS"
    r"|ON CONFLICT|FOR UPDATE|IS NULL|IS NOT NULL|COLLATE|LIKE|AND|OR|UNION|OFFSET)\b"
)
DDL = re.compile(r"schema/|migrations/operations\.py|.*\btables\.py")
"""Places that make DDL of names of our own: policies, grants, index expressions, for which Core has no words."""

BUILDS = {"format", "format_map", "join", "replace"}
RUNS = {"execute", "executemany", "fetch", "fetchrow", "fetchval", "prepare", "cursor", "copy_from_query"}
CORE_TEXT = {"text", "literal_column"}


@dataclass(frozen=True)
class Literal:
    """A statement as it stands in a module."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(POSTGRES)}:{self.line}"


def sources(*folders: str) -> list[Path]:
    """Modules below the folders; ``""`` is all of adapters/postgres. Migrations stay as they were written."""
    found = {path for folder in folders for path in (POSTGRES / folder).rglob("*.py") if "versions" not in path.parts}
    return sorted(path for path in found if not DDL.match(str(path.relative_to(POSTGRES))))


def literals(path: Path) -> Iterator[Literal]:
    """Every string constant that is a whole statement, in whatever the module keeps or passes it."""
    tree = ast.parse(path.read_text())
    parts = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in ast.walk(tree):
        # an f-string's parts are no statements of their own
        if isinstance(node, ast.Constant) and id(node) not in parts and STATEMENT.match(str(node.value)):
            yield Literal(path, node.lineno, str(node.value))


def pieced(source: str) -> list[str]:
    """Places where SQL is made of strings, as ``line: expression``."""
    tree = ast.parse(source)
    expressions = (node for node in ast.walk(tree) if isinstance(node, ast.expr))
    found = [node for node in expressions if _is_pieced(node) or _is_variable_text(node)]
    return [f"{node.lineno}: {ast.unparse(node)[:100]}" for node in found]


def _is_pieced(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr(values=values):
            return any(_is_sql(value) for value in values)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            return _is_sql(left) or _is_sql(right)
        case ast.Call(func=ast.Attribute(value=text, attr=method)) if method in BUILDS:
            return _is_sql(text)
    return False


def _is_sql(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(CLAUSE.search(node.value))


def _is_variable_text(node: ast.AST) -> bool:
    """Whether Core or a connection is handed text that the call itself makes."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[text, *_]) if name in CORE_TEXT:
            return not isinstance(text, ast.Constant | ast.Name)
        case ast.Call(func=ast.Attribute(attr=name), args=[text, *_]) if name in RUNS:
            return isinstance(text, ast.JoinedStr | ast.BinOp) or _is_built(text)
    return False


def _is_built(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in BUILDS
