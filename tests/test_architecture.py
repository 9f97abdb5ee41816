"""Rules of the source that nobody checks by eye: sizes, reach and prose."""

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("domain", "application", "adapters", "entrypoints")
PORTS = ROOT / "application" / "ports"

FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "core", "lib", "services", "managers", "dto"}
FILE_LINES, FUNCTION_LINES, FOLDER_FILES = 350, 50, 15
REACH = {"identity/login/auth.py": 5_200, "entities/rows.py": 6_850}
REACH_OF_OTHERS = 8_200
"""Most lines of the files of ours that a reader opens from a handler's module to the ports."""

COMMENTS_PER_100_LINES = 2

PROMISES = re.compile(r"(?m)^@pytest\.mark\.promise\((?:.+\)|\n(?:    .+\n)+\))\n")
"""Markers of promises, which do not count towards the lines of a test file: they are documentation."""

UNEXPLAINED = re.compile(r"# noqa: [A-Z0-9, ]+$")
"""An exception from a lint rule without a reason after it."""

DIRECTIVE = re.compile(r"#\s*(noqa|type:|pyright)")
"""Comments for tools, which give no reason to a reader."""


def sources(*folders: str) -> list[Path]:
    """Python files of the folders, without the generated migrations."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if "versions" not in path.parts)


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def tree_of(path: Path) -> ast.Module:
    """Parsed once for all tests of a worker, none of which changes it."""
    return ast.parse(text_of(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, in the order of ``ast.walk``."""
    return tuple(ast.walk(tree_of(path)))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return functions_among(ast.walk(tree))


def functions_among(nodes: Iterable[ast.AST]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


@pytest.fixture(scope="module", autouse=True)
def trees() -> Iterator[None]:
    """Forgets the trees at the end: millions of objects, which each collection of garbage would look at."""
    yield
    for kept in (text_of, tree_of, nodes_of):
        kept.cache_clear()


SOURCES = sources(*LAYERS)
ALL_FILES = [*SOURCES, *sources("tests", "benchmarks")]


def test_a_file_is_one_thing_that_fits_a_few_screens() -> None:
    lines = {path: len(PROMISES.sub("", text_of(path)).splitlines()) for path in ALL_FILES}
    assert {named(path): count for path, count in lines.items() if count > FILE_LINES} == {}
    assert [named(path) for path in ALL_FILES if path.stem in FORBIDDEN_NAMES] == []


def test_a_function_fits_one_screen() -> None:
    assert [fault for path in SOURCES for fault in faults_of_functions(path)] == []


def faults_of_functions(path: Path) -> Iterator[str]:
    for function in functions_among(nodes_of(path)):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > FUNCTION_LINES:
            yield f"{named(path)}: {function.name} has {lines} lines"


def test_every_exception_from_a_lint_rule_gives_its_reason() -> None:
    assert [
        f"{named(path)}:{number}"
        for path in ALL_FILES
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if UNEXPLAINED.search(line)
    ] == []


def test_a_folder_has_few_files() -> None:
    counts = Counter(path.parent for path in sources(*LAYERS, "tests"))
    assert {named(folder): count for folder, count in counts.items() if count > FOLDER_FILES} == {}


def test_the_docstring_of_a_class_begins_with_what_the_class_is() -> None:
    assert [
        f"{named(path)}: {node.name}"
        for path in SOURCES
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and (ast.get_docstring(node) or "").startswith("``")
    ] == []


@pytest.mark.parametrize("folder", LAYERS)
def test_comments_give_the_reasons(folder: str) -> None:
    texts = [text_of(path) for path in sources(folder)]
    count = sum(comments(text) for text in texts)
    lines = sum(text.count("\n") for text in texts)
    assert count * 100 >= lines * COMMENTS_PER_100_LINES, f"{count} comments in {lines} lines"


def comments(text: str) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.COMMENT and DIRECTIVE.match(token.string) is None for token in tokens)


BOUND_ONE = re.compile(r"\bone\s*([-+*/%@&|^<>]*=|[:,)\]]|in\b)|\bas\s+one\b")
"""What stands wherever a variable ``one`` is bound, and in some prose: other files need not be parsed for it."""


def test_no_variable_is_called_one() -> None:
    found = [
        f"{named(path)}:{line}"
        for path in ALL_FILES
        if BOUND_ONE.search(text_of(path))
        for name, line in bound_names(nodes_of(path))
        if name == "one"
    ]
    assert found == []


def bound_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Variables and parameters with the line that binds them: loops, comprehensions and lambdas included."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def test_a_public_class_name_is_defined_in_one_file() -> None:
    files: defaultdict[str, set[str]] = defaultdict(set)
    for path in sources(*LAYERS):
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].add(named(path))
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


HANDLER_MODULES = [
    path
    for path in sources("adapters/http/identity", "adapters/http/entities")
    if path.stem not in ("__init__", "part", "controllers", "use_cases", "router", "own_routes")
]


def test_a_handler_imports_few_lines() -> None:
    """Counts the whole files that a handler's module imports, directly or not, and the module itself.

    The ports count; what they import counts only where a use case imports it as well.
    """
    too_many = {
        f"{named(path)} reaches {lines} lines": sorted(map(named, reached_from(path)))
        for path in HANDLER_MODULES
        if (lines := sum(len(text_of(file).splitlines()) for file in reached_from(path))) > most_reached(path)
    }
    assert too_many == {}


def most_reached(path: Path) -> int:
    return REACH.get(path.relative_to(ROOT / "adapters" / "http").as_posix(), REACH_OF_OTHERS)


@cache
def reached_from(path: Path) -> frozenset[Path]:
    seen = {path}
    waiting = [*own_imports(path)]
    while waiting:
        found = waiting.pop()
        if found not in seen:
            seen.add(found)
            waiting += () if PORTS in found.parents else own_imports(found)
    return frozenset(seen)


@cache
def own_imports(path: Path) -> tuple[Path, ...]:
    """Files that a module imports when it runs; imports for type checkers alone are not followed."""
    return tuple(_imports_of(nodes_of(path)))


def _imports_of(nodes: Iterable[ast.AST]) -> Iterator[Path]:
    for_types = {
        inner
        for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in nodes:
        if node in for_types or not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        if node.module.split(".")[0] in LAYERS:
            file = ROOT.joinpath(*node.module.split(".")).with_suffix(".py")
            if file.exists():
                yield file
            else:
                yield from (file.with_suffix("") / f"{name.name}.py" for name in node.names)


@cache
def ports() -> list[ast.ClassDef]:
    return [
        node
        for path in sources("application/ports")
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef) and "Protocol" in ast.unparse(node)
    ]


def test_every_port_has_at_most_eight_methods() -> None:
    assert {port.name: count for port in ports() if (count := len(list(functions(port)))) > 8} == {}


WHOLE_RECORDS = {
    "application/entities/transactions/joint_write.py": 2,
    "application/entities/transactions/upserts.py": 1,
    "application/entities/transfers/imports.py": 1,
    "application/entities/writing.py": 5,
}
"""Uses of the records without limits to own rows: for rules, and for checks of what a deletion changes."""


def attributes(path: Path, name: str) -> int:
    return sum(isinstance(node, ast.Attribute) and node.attr == name for node in nodes_of(path))


def test_only_rules_and_deletions_use_records_without_limits() -> None:
    used = {named(path): attributes(path, "whole_records") for path in sources(*LAYERS)}
    assert {path: count for path, count in used.items() if count} == WHOLE_RECORDS


def test_generated_handlers_read_and_write_only_rows_within_limits() -> None:
    """Only a project's own routes use the scope of the tenant."""
    names = ("tenant_scope", "written_tenant")
    handlers = [path for path in sources("adapters/http/entities") if path.stem != "own_routes"]
    assert [named(path) for path in handlers for name in names if attributes(path, name)] == []
