"""Promises of the product, and the tests that show them. ``make promises`` prints them by subject.

A promise is a marker on a test: ``@pytest.mark.promise("POST /api/auth/login: a locked account")``. Its subject is the
part before the first colon: an operation, or an area and a section of ``SUBJECTS``.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parent

SUBJECTS = {
    "console": ("accessibility and states", "attacks", "budgets", "journeys"),
    "declarations": (
        "OpenAPI document",
        "case folding",
        "checks",
        "documentation",
        "indexes and decimals",
        "internal errors",
        "names and sizes",
        "projects",
        "references",
        "rows sent back",
        "values",
    ),
    "entities": ("changes", "contract", "details", "own rows"),
    "files": ("Parquet", "errors of rows", "hostile files", "spreadsheets", "transfers", "upsert"),
    "identity": (
        "account states",
        "accounts and mail",
        "administration",
        "applications",
        "encrypted passwords",
        "endpoints",
        "errors",
        "every response",
        "fields",
        "limits",
        "passwords",
        "refresh tokens and sessions",
        "revocation",
        "social login",
        "tokens and keys",
        "user import",
    ),
    "keys": ("client credentials", "cost", "guessing", "impersonation", "revocation of keys"),
    "migrations": ("common changes", "data loss", "databases and replicas", "renames", "under traffic", "workflow"),
    "scale": ("PgBouncer", "failover", "growth", "replicas"),
    "second factors": ("ASVS 5.0", "attacks", "behaviour"),
    "security": (
        "audit trail",
        "console",
        "faults",
        "impersonation",
        "input",
        "isolation",
        "lockout",
        "names",
        "rights",
        "row-level security",
        "secrets",
        "transport",
    ),
    "sign-in pages": ("attacks", "behaviour"),
    "tenants": ("acceptance", "domains and requests to join", "invitations", "own account", "owners"),
    "webhooks": ("administration", "deliveries", "destinations", "health", "signatures"),
}
"""Sections of each area."""


class Promise(NamedTuple):
    text: str
    test: str
    """Such as ``tests/http/identity/login/test_auth.py::test_a_login``."""

    @property
    def subject(self) -> str:
        return self.text.partition(": ")[0]


@cache
def promises() -> tuple[Promise, ...]:
    return tuple(promise for path in sorted(TESTS.rglob("*.py")) for promise in _of(path))


def _of(path: Path) -> Iterator[Promise]:
    text = path.read_text("utf-8")
    if "@pytest.mark.promise(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            test = f"{path.relative_to(TESTS.parent)}::{node.name}"
            yield from (Promise(ast.literal_eval(call.args[0]), test) for call in _markers(node))


def _markers(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Call]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.promise":
            yield decorator


def main(words: list[str]) -> None:
    """Prints the promises, or those that contain all words."""
    tests = defaultdict[str, defaultdict[str, list[str]]](lambda: defaultdict(list))
    for promise in promises():
        if all(word.lower() in promise.text.lower() for word in words):
            tests[promise.subject][promise.text].append(promise.test)
    for subject in sorted(tests):
        lines = [subject]
        for text, named in sorted(tests[subject].items()):
            lines += [f"  {text.removeprefix(subject).lstrip(': ') or subject}", *(f"      {name}" for name in named)]
        sys.stdout.write("\n".join([*lines, "", ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
