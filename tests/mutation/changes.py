"""Small changes of a module's source that a test should notice: each is a mistake that somebody could make."""

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import NamedTuple

TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


class Mutant(NamedTuple):
    """``tree`` is the whole module with one change at ``line``; its lines are those of the source."""

    path: str
    line: int
    last_line: int
    change: str
    tree: ast.Module


Change = Callable[[ast.AST], str | None]
"""Changes the node in place and says what it did, or leaves it and returns None."""


def turn_comparison(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Compare) or type(node.ops[0]) not in TURNED:
        return None
    before = ast.unparse(node)
    node.ops[0] = TURNED[type(node.ops[0])]()
    return f"{before}  →  {ast.unparse(node)}"


def swap_and_or(node: ast.AST) -> str | None:
    if not isinstance(node, ast.BoolOp):
        return None
    before = ast.unparse(node)
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return f"{before}  →  {ast.unparse(node)}"


def forget_not(node: ast.AST) -> str | None:
    if not isinstance(node, ast.If | ast.IfExp) or not isinstance(node.test, ast.UnaryOp):
        return None
    before = ast.unparse(node.test)
    node.test = node.test.operand
    return f"{before}  →  {ast.unparse(node.test)}"


def miss_by_one(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        return None
    node.value += 1
    return f"{node.value - 1}  →  {node.value}"


def leave_out_call(node: ast.AST) -> str | None:
    """A call whose value nobody uses."""
    if not isinstance(node, ast.Expr):
        return None
    call = node.value.value if isinstance(node.value, ast.Await) else node.value
    if not isinstance(call, ast.Call):
        return None
    before = ast.unparse(node)
    node.value = ast.Constant(None)
    return f"{before}  →  left out"


CHANGES: tuple[Change, ...] = (turn_comparison, swap_and_or, forget_not, miss_by_one, leave_out_call)


class Site(NamedTuple):
    """Where a change is possible: the number of the node in a walk through the module."""

    path: str
    number: int
    line: int
    last_line: int
    change: Change


def sites_of(path: str, source: str) -> Iterator[Site]:
    for number, node in enumerate(ast.walk(ast.parse(source))):
        if isinstance(node, ast.Compare | ast.BoolOp | ast.If | ast.IfExp | ast.Constant | ast.Expr):
            for change in CHANGES:
                if change(deepcopy(node)) is not None:
                    yield Site(path, number, node.lineno, node.end_lineno or node.lineno, change)


def mutant_at(site: Site, source: str) -> Mutant:
    tree = ast.parse(source)
    node = next(found for at, found in enumerate(ast.walk(tree)) if at == site.number)
    done = site.change(node)
    assert done is not None
    return Mutant(site.path, site.line, site.last_line, done, ast.fix_missing_locations(tree))
