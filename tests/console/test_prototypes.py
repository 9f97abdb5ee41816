"""Names that somebody sends become no properties of a prototype: ASVS 15.3.6, in all JavaScript that is served.

A prototype is reached by a name such as ``__proto__`` in two ways: an assignment below a member that a name chose
(``found[a][b] = c``), or code that copies objects deeply. Neither is here, and what is assigned by a name is listed.
"""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSOLE = ROOT / "adapters" / "console" / "source"
ASSETS = ROOT / "adapters" / "http" / "assets"
OTHERS = ("swagger-ui-bundle.js",)
"""Made elsewhere: held to the text that was reviewed by assets/SHA256SUMS."""

BY_NAME = re.compile(r"([\w)\]][!?]?)\[([^\]]+)\]\s*(?:[-+*/|&?]{1,2})?=(?![=>])")
LITERAL = re.compile(r"""["'][^"']*["']|\d+""")
BELOW = re.compile(r"\][!?]?\.?\[[^\]]+\]\s*=(?![=>])|\][!?]?\.\w+\s*=(?![=>])")
DEEP = re.compile(r"__proto__|setPrototypeOf|\.prototype\b|defineProperty|\b(?:deep)?[mM]erge\w*\(|\bfor\s*\([^)]* in ")

ASSIGNED = {
    "src/forms/reference.tsx: else if (target.display) query[`${target.display}.contains`] = typed;": "has a dot in it",
    'src/forms/Form.tsx: if (known.has(field)) found[field] = [found[field], message].filter(Boolean).join("; ");': (
        "a text, under the name of a declared field"
    ),
}
"""Assignments to a member whose name is no literal, each with the reason why it reaches no prototype."""


def lines() -> list[str]:
    console = [file for file in (CONSOLE / "src").rglob("*.ts*") if file.is_file()]
    pages = [file for file in ASSETS.glob("*.js") if file.name not in OTHERS]
    assert len(console) > 50
    assert len(pages) > 3
    return [
        f"{file.relative_to(CONSOLE if file in console else ASSETS)}: {line.strip()}"
        for file in (*console, *pages)
        for line in file.read_text("utf-8").splitlines()
    ]


def by_name(line: str) -> bool:
    return any(not LITERAL.fullmatch(name) for _, name in BY_NAME.findall(line))


def test_what_is_assigned_by_a_name_is_listed_with_its_reason() -> None:
    assert {line for line in lines() if by_name(line)} == ASSIGNED.keys()


def test_nothing_is_assigned_below_a_name_and_nothing_copies_deeply() -> None:
    assert [line for line in lines() if BELOW.search(line) or DEEP.search(line)] == []


@pytest.mark.parametrize(
    "line",
    [
        "found[a][b] = c;",
        "kept[name].title = text;",
        "kept[name]![other] = text;",
        "target.__proto__ = source;",
        "Object.prototype.x = 1;",
        "merge(target, source);",
        "for (const key in source) copy(key);",
    ],
)
def test_what_reaches_a_prototype_is_seen(line: str) -> None:
    assert BELOW.search(line) or DEEP.search(line)
    assert not BELOW.search("const [first, second] = parts;")
    assert not by_name('headers["X-Tenant-Scope"] = scope;')


def test_no_library_that_copies_objects_is_in_the_console() -> None:
    assert set(json.loads((CONSOLE / "package.json").read_text())["dependencies"]) == {"@preact/signals", "preact"}
