"""What may not stand in the sources: expressions made of input, secrets that can be foretold, hindered passwords.

docs/security.md claims nothing without a test that is there.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("domain", "application", "adapters", "entrypoints")

REGULAR = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
NOT_ESCAPED = {
    "adapters/argon2/foreign.py": "the patterns are literals of the table above",
    "adapters/http/request/hosts.py": "hosts of a setting, escaped where they are listed",
    "domain/entities/attachments/keys.py": "literals, put together",
    "domain/entities/files/csv_rows.py": "the delimiter is escaped where it is made",
    "domain/entities/files/spelling.py": "literals, put together with an escaped separator",
    "domain/entities/forms.py": "digits of a declaration",
    "domain/entities/mistakes/patterns.py": "patterns of a declaration, read when they are checked",
    "domain/entities/sheets.py": "literals, put together",
    "domain/identity/passwords.py": "a new password of at most 128 characters, escaped where it is put in",
    "domain/identity/service_accounts.py": "literals, put together",
    "domain/words/words.py": "sentences of a file, escaped between their places",
}
"""Files whose regular expressions are made of more than literals and escaped text, each with the reason."""

RANDOM = {
    "entrypoints/cli/identity/demo_data.py": "the same example rows each time",
    "entrypoints/server/housekeeping.py": "processes shall not all begin at the same moment",
}
"""Files that may draw numbers that can be foretold, each with the reason. Secrets are drawn by ``secrets``."""


@cache
def sources() -> list[tuple[str, ast.Module]]:
    """Modules of all layers, by their paths."""
    files = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]
    return [(str(path.relative_to(ROOT)), ast.parse(path.read_text())) for path in files]


def pages() -> Iterator[tuple[str, str]]:
    """Sources of the console and of all pages that ask for a password, by their paths."""
    for pattern in (
        "adapters/console/source/src/**/*.tsx",
        "adapters/console/source/src/**/*.html",
        "adapters/http/**/*.html",
    ):
        for path in sorted(ROOT.glob(pattern)):
            yield str(path.relative_to(ROOT)), path.read_text()


def is_literal(node: ast.expr) -> bool:
    """Whether the expression is a literal, or an f-string whose every part is ``re.escape(…)``."""
    if isinstance(node, ast.JoinedStr):
        return all(not isinstance(part, ast.FormattedValue) or is_escaped(part.value) for part in node.values)
    return isinstance(node, ast.Constant) or is_escaped(node)


def is_escaped(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "re.escape"


def made_of_more(tree: ast.Module) -> list[str]:
    """Regular expressions that are put together from something else than literals and escaped text."""
    return [
        ast.unparse(call)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "re"
        and call.func.attr in REGULAR
        and not is_literal(call.args[0])
    ]


def test_no_regular_expression_is_made_of_input() -> None:
    found = {path: calls for path, tree in sources() if (calls := made_of_more(tree))}
    assert found.keys() == NOT_ESCAPED.keys(), found


def test_the_search_finds_what_is_not_escaped() -> None:
    said = (
        're.compile(name)\nre.search(rf"{name}", text)\nre.sub("a" + name, "", text)\nre.match(re.escape(name), text)'
    )
    assert made_of_more(ast.parse(said)) == [
        "re.compile(name)",
        "re.search(f'{name}', text)",
        "re.sub('a' + name, '', text)",
    ]


def test_numbers_that_can_be_foretold_are_drawn_for_no_secret() -> None:
    found = {path for path, tree in sources() if draws_foretold_numbers(tree)}
    assert found == RANDOM.keys()


def draws_foretold_numbers(tree: ast.Module) -> bool:
    """Whether the module imports ``random``; ``import secrets as random`` is not meant."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] == "random" for name in names):
            return True
    return False


def test_nothing_hinders_pasting_or_a_password_manager() -> None:
    asking = 0
    for path, text in pages():
        assert not re.search(r"onpaste|onPaste|[\"']paste[\"']", text), path
        for field in re.finditer(r"<(?:input|Input|TextField)\b(?:=>|[^>])*type=\"password\"(?:=>|[^>])*>", text):
            asking += 1
            assert re.search(r"auto[cC]omplete=\"(current|new)-password\"", field[0]), f"{path}: {field[0]}"
    assert asking >= 8


PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
ROWS = re.findall(r"^\| (\d+\.\d+\.\d+) \| ([a-z ]+) \| (.+?) \|(.*)\|$", PAGE, re.MULTILINE)
REQUIREMENTS = 253
"""Requirements of level 1 and 2 in ASVS 5.0."""


def test_every_requirement_is_listed_once_in_order() -> None:
    numbers = [tuple(map(int, number.split("."))) for number, *_ in ROWS]
    assert len(numbers) == REQUIREMENTS
    assert numbers == sorted(set(numbers))


def test_every_met_requirement_names_existing_tests() -> None:
    for number, state, why, held in ROWS:
        assert state in ("met", "not applicable", "open"), number
        assert why.strip(), number
        assert bool(held.strip()) is (state == "met"), number
        for file, test in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", held):
            text = (ROOT / file).read_text("utf-8")
            assert not test or re.search(rf"def {test}\(", text), f"{number}: {file}::{test}"


def test_the_counts_are_right() -> None:
    states = [state for _, state, *_ in ROWS]
    told = f"{states.count('met')} are met, {states.count('not applicable')} are not applicable"
    assert f"{told}, {states.count('open')} are open" in PAGE.replace("\n", " ")
