"""Places of errors: file and line of an entity, field or method."""

import ast
import inspect
import linecache
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from domain.errors import nearest


class Mistake(NamedTuple):
    """A sentence to follow the entity's name; ``member`` is the wrong field or method."""

    text: str
    member: str | None = None


def report_line(kind: type[Struct], mistake: Mistake) -> str:
    """Return a line of the report: ``Book: field 'pages' has … (shop/books.py:12)``."""
    return f"{kind.__name__}: {mistake.text}{place_of(kind, mistake.member)}"


def place_of(kind: type[Struct], member: str | None = None) -> str:
    """Return the place in brackets; empty for a struct without source, as from ``defstruct``."""
    # A field may be inherited, so report the first class that declares it.
    for owner in kind.__mro__ if member is not None else (kind,):
        if (found := _line(owner, member)) is not None:
            return f" ({found})"
    return "" if member is None else place_of(kind)


def _line(kind: type, member: str | None) -> str | None:
    try:
        file = inspect.getsourcefile(kind)
    except TypeError:  # a class of a module without a file
        return None
    body = _classes_in(file).get(kind.__qualname__) if file is not None else None
    if file is None or body is None:
        return None
    # A class starts at its decorators, with the arguments of ``@entity``.
    first = min([body.lineno, *(decorator.lineno for decorator in body.decorator_list)])
    numbers: dict[str | None, int] = dict(_members(body)) if member is not None else {None: first}
    return f"{_short(file)}:{numbers[member]}" if member in numbers else None


@cache
def _classes_in(file: str) -> dict[str, ast.ClassDef]:
    try:
        module = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return {}
    return dict(reversed([*_classes(module)]))


def _classes(scope: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.ClassDef):
            yield f"{prefix}{node.name}", node
            yield from _classes(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _classes(node, f"{prefix}{node.name}.<locals>.")
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):  # expressions cannot contain a class
            yield from _classes(node, prefix)


def _members(body: ast.ClassDef) -> Iterator[tuple[str | None, int]]:
    for statement in body.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.lineno
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.name, statement.lineno


def _short(file: str) -> str:
    path, here = Path(file).resolve(), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'labels'?"`` for the nearest known name, or an empty text without a similar one."""
    near = nearest(name, known)
    return "" if near is None else f"; did you mean {near!r}?"
