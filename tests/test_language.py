"""Documents, docstrings, comments, messages and test names in plain English, measured by words and by clauses.

The words are those of a private dialect: each is clear to its author, and has a standard term that readers know.
"""

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("tenantry", "domain", "application", "adapters", "entrypoints")
MOST_WORDS = 143_600
"""Words of documents, decisions, changelog, docstrings and comments together."""
MOST_DIALECT, MOST_CLAUSES = 8, 15
"""Occurrences in 1,000 words."""

DIALECT = re.compile(
    r"\b(stands?|stood|tells?|told|beside|anew|whose|whoever|nobody|alone|keeps?|kept|takes?|goes away|as ever|for ever"
    r"|of (?:its|their|one's) own|(?:is|are|was|were) no(?! longer)|what (?:is|was|are|were) \w+ed|by itself"
    r"|by themselves|the like|is there|are there already)\b",
    re.IGNORECASE,
)
CLAUSES = re.compile(
    r"\b(which|who|whom|whose|that (?:is|are|was|were|has|have|had|can|may|must|does|do))\b", re.IGNORECASE
)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
CODE = re.compile(r"```.*?```|`[^`]*`|\[[^\]]*\]\([^)]*\)|<[^>]+>|https?://\S+", re.DOTALL)
DIRECTIVE = re.compile(r"#\s*(noqa|type:|!)")


def prose(text: str) -> str:
    return CODE.sub(" ", text)


@cache
def python_files(*folders: str) -> tuple[Path, ...]:
    return tuple(path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


def trees(*folders: str) -> Iterator[ast.AST]:
    return (node for path in python_files(*folders) for node in ast.walk(ast.parse(path.read_text("utf-8"))))


def documents() -> Iterator[str]:
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        if "reference" not in path.parts:
            yield prose(path.read_text("utf-8"))


def docstrings() -> Iterator[str]:
    for node in trees(*LAYERS):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield prose((ast.get_docstring(node) or "").replace("``", "`"))


def comments() -> Iterator[str]:
    for path in python_files(*LAYERS):
        for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
            if token.type == tokenize.COMMENT and not DIRECTIVE.match(token.string):
                yield token.string.lstrip("# ")


def messages() -> Iterator[str]:
    """English sentences of the API, the console, the pages and the mails."""
    for path in sorted((ROOT / "domain" / "words" / "en").glob("*.json")):
        waiting = [json.loads(path.read_text("utf-8"))]
        while waiting:
            found = waiting.pop()
            if isinstance(found, str):
                yield found
            else:
                waiting += found.values() if isinstance(found, dict) else found


def test_names() -> Iterator[str]:
    for node in trees("tests"):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name.replace("_", " ")


test_names.__test__ = False  # type: ignore[attr-defined]

KINDS = {
    "documents": documents,
    "docstrings": docstrings,
    "comments": comments,
    "messages": messages,
    "test names": test_names,
}


def count(pattern: re.Pattern[str], texts: list[str]) -> int:
    return sum(len(pattern.findall(text)) for text in texts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_uses_standard_terms_and_few_relative_clauses(kind: str) -> None:
    texts = [text for text in KINDS[kind]() if text]
    words = count(WORD, texts)
    assert words > 1_000
    worst = sorted(texts, key=lambda text: -len(DIALECT.findall(text)))[:10]
    assert count(DIALECT, texts) * 1_000 <= words * MOST_DIALECT, worst
    worst = sorted(texts, key=lambda text: -len(CLAUSES.findall(text)))[:10]
    assert count(CLAUSES, texts) * 1_000 <= words * MOST_CLAUSES, worst


def test_the_texts_of_the_project_stay_short() -> None:
    assert count(WORD, [*documents(), *docstrings(), *comments()]) <= MOST_WORDS


@pytest.mark.parametrize(
    ("text", "dialect", "clauses"),
    [
        ("The row is stored in a table.", 0, 0),
        ("The row stands in a table of its own.", 2, 0),
        ("There is no longer a row, and it is no row.", 1, 0),
        ("A user who logs in, which may fail, gets it.", 0, 2),
        ("What is selected is kept beside `what stands here`.", 3, 0),
    ],
)
def test_the_measure_counts_dialect_and_clauses_outside_of_code(text: str, dialect: int, clauses: int) -> None:
    assert (count(DIALECT, [prose(text)]), count(CLAUSES, [prose(text)])) == (dialect, clauses)
