"""Sentences that the code gives to its errors: read from the sources, so that a new one has to be translated."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from domain.errors import Error
from tools.reference.errors_page import kinds

ROOT = Path(__file__).resolve().parents[3]
FILLED_IN = "12"
"""What stands in the place of a value: most are numbers."""

AT_FIRST = frozenset({kind.__name__ for kind in kinds(Error)} | {"NotAValue", "NotAWord", "WrongCell", "BadRow"})
"""Errors whose first argument is the sentence."""
AT_SECOND = frozenset({"FieldError", "on", "_wrong", "RateLimited"})
"""Calls whose second argument is the sentence; the first is the field, or when to try again."""

TAKEN = "TAKEN"
"""Name of a table of a file: of the field and the sentence for each constraint that a write may violate."""

Node = ast.AST


class Module:
    """Definitions of one file by their names: what a name may be, and what a function may return."""

    def __init__(self, path: Path) -> None:
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.values: dict[str, list[ast.expr]] = defaultdict(list)
        self.returned: dict[str, list[ast.expr]] = defaultdict(list)
        for node in ast.walk(self.tree):
            self._learn(node)

    def _learn(self, node: Node) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.values[target.id].append(node.value)
        if isinstance(node, ast.NamedExpr):
            self.values[node.target.id].append(node.value)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            self.values[node.target.id].append(node.value)
        if isinstance(node, ast.FunctionDef):
            self.returned[node.name] += [
                inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return | ast.Yield) and inner.value
            ]


@cache
def module(path: Path) -> Module:
    return Module(path)


@cache
def everywhere() -> Mapping[str, tuple[ast.expr, ...]]:
    """Constants and functions of texts by name, for what is imported."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for path in files(("domain", "application", "adapters")):
        read = module(path)
        for name, values in read.returned.items():
            found[name] += values
        for name, values in read.values.items():
            found[name] += values if name.strip("_").isupper() else ()
    return {name: tuple(values) for name, values in found.items()}


def files(names: Iterable[str]) -> list[Path]:
    return sorted(
        path
        for name in names
        for path in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.py"))
        if "migrations" not in path.parts
    )


def said_in(path: Path) -> Iterator[str]:
    """The sentences that a file gives to errors, with ``FILLED_IN`` for each value."""
    read = module(path)
    yield from _said_of_constraints(read)
    for node in ast.walk(read.tree):
        if isinstance(node, ast.Assign) and any(_name(target) == "sentence" for target in node.targets):
            yield from texts_of(node.value, read)
        if isinstance(node, ast.Call):
            name = _name(node.func)
            at = 1 if name in AT_SECOND else 0 if name in AT_FIRST else None
            if at is not None and len(node.args) > at:
                yield from texts_of(node.args[at], read)


def _said_of_constraints(read: Module) -> Iterator[str]:
    for table in read.values.get(TAKEN, ()):
        for answer in table.values if isinstance(table, ast.Dict) else ():
            pairs = read.values.get(answer.id, []) if isinstance(answer, ast.Name) else [answer]
            for pair in pairs:
                if isinstance(pair, ast.Tuple):
                    yield from texts_of(pair.elts[1], read)


def texts_of(node: Node, read: Module, depth: int = 0) -> Iterator[str]:
    """The texts that an expression may be: of a constant, of either branch, of the function that is called."""
    if depth > 4:
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield from map("".join, product(*(_pieces(part, read, depth) for part in node.values)))
    elif isinstance(node, ast.IfExp):
        yield from texts_of(node.body, read, depth)
        yield from texts_of(node.orelse, read, depth)
    elif isinstance(node, ast.Name | ast.Call):
        for value in _meant(node, read):
            yield from texts_of(value, read, depth + 1)


def _pieces(part: Any, read: Module, depth: int) -> list[str]:
    if isinstance(part, ast.Constant):
        return [str(part.value)]
    texts = list(texts_of(part.value, read, depth + 1))
    # most values are numbers or names; some are words, or sentences of their own
    return texts if any(" " in text for text in texts) else [FILLED_IN]


def _meant(node: ast.Name | ast.Call, read: Module) -> Iterable[ast.expr]:
    if isinstance(node, ast.Name):
        return read.values.get(node.id) or everywhere().get(node.id, ())
    name = _name(node.func)
    return read.returned.get(name) or everywhere().get(name, ())


def _name(node: Node) -> str:
    """``on`` of ``ValidationError.on``, and of ``on``."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
