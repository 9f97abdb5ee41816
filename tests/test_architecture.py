"""The rules of the house that a reader cannot check by eye: sizes, reach, what is awaited inside a transaction."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("domain", "application", "adapters", "entrypoints")
FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "core", "lib", "services", "managers", "dto"}
FILE_LINES, FUNCTION_LINES, PARAMETERS, REACH = 350, 50, 6, 24

SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py") if "versions" not in path.parts)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_a_file_is_one_thing_that_fits_a_few_screens(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= FILE_LINES
    assert path.stem not in FORBIDDEN_NAMES


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_a_function_fits_one_screen_and_takes_few_parameters(path: Path) -> None:
    for function in functions(ast.parse(path.read_text())):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        assert lines <= FUNCTION_LINES, f"{function.name} has {lines} lines"
        taken = [argument.arg for argument in function.args.args if argument.arg not in ("self", "cls")]
        assert len(taken) <= PARAMETERS, f"{function.name} takes {taken}"


@pytest.mark.parametrize("path", sorted((ROOT / "application").rglob("*.py")), ids=named)
def test_inside_a_transaction_only_the_transaction_is_awaited(path: Path) -> None:
    for block in ast.walk(ast.parse(path.read_text())):
        if isinstance(block, ast.AsyncWith) and (names := transaction_names(block)):
            strangers = [ast.unparse(awaited.value) for awaited in awaits(block) if not works_on(awaited.value, names)]
            assert not strangers, f"line {block.lineno}: {strangers}"


def transaction_names(block: ast.AsyncWith) -> set[str]:
    """The names that a ``async with self.database.transaction(…) as tx`` binds."""
    return {
        item.optional_vars.id
        for item in block.items
        if isinstance(item.optional_vars, ast.Name)
        and isinstance(item.context_expr, ast.Call)
        and ast.unparse(item.context_expr.func).endswith(
            ("database.transaction", "database.read_only", "database.autocommit")
        )
    }


def awaits(block: ast.AsyncWith) -> Iterator[ast.Await]:
    return (node for statement in block.body for node in ast.walk(statement) if isinstance(node, ast.Await))


def works_on(call: ast.expr, names: set[str]) -> bool:
    """``tx.users.add(…)``, or a method of the use case that is handed ``tx``."""
    if not isinstance(call, ast.Call):
        return False
    first = call.args[0] if call.args else None
    own = ast.unparse(call.func).startswith("self._") and isinstance(first, ast.Name) and first.id in names
    return own or ast.unparse(call.func).split(".")[0] in names


ROUTE_MODULES = sorted(path for path in (ROOT / "adapters" / "http").rglob("*.py") if "application" in path.read_text())


@pytest.mark.parametrize("path", ROUTE_MODULES, ids=named)
def test_who_reads_a_route_reads_few_files(path: Path) -> None:
    """The first-party files that a route's module imports, transitively, adapters aside."""
    seen: set[Path] = set()
    waiting = list(inner_imports(path))
    while waiting:
        found = waiting.pop()
        if found not in seen:
            seen.add(found)
            waiting += inner_imports(found)
    assert len(seen) <= REACH, sorted(map(named, seen))


def inner_imports(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ("domain", "application"):
            file = ROOT.joinpath(*node.module.split(".")).with_suffix(".py")
            assert file.exists(), f"{named(path)} imports the package {node.module}: name the file"
            yield file


def test_every_port_has_a_contract_test_for_each_method() -> None:
    contracts = "\n".join(path.read_text() for path in (ROOT / "tests" / "contracts").rglob("*.py"))
    missing = [
        f"{port.name}.{method.name}"
        for path in (ROOT / "application" / "ports").rglob("*.py")
        for port in ast.parse(path.read_text()).body
        if isinstance(port, ast.ClassDef)
        for method in port.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and not method.decorator_list
        if f".{method.name}(" not in contracts
    ]
    assert not missing


def test_every_port_has_at_most_eight_methods() -> None:
    for path in (ROOT / "application" / "ports").rglob("*.py"):
        for port in ast.parse(path.read_text()).body:
            if isinstance(port, ast.ClassDef):
                assert len(list(functions(port))) <= 8, port.name
