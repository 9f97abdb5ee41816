"""Declared dependencies are imported by the part that they were chosen for, and nothing else is imported."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("domain", "application", "adapters", "entrypoints", "tenantry")
FIRST_PARTY = {*LAYERS, "tests", "benchmarks"}

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

IMPORTED_AS = {
    "advanced-alchemy": "advanced_alchemy",
    "argon2-cffi": "argon2",
    "dnspython": "dns",
    "opentelemetry-sdk": "opentelemetry",  # a namespace of all its packages
    "prometheus-client": "prometheus_client",
    "rich-click": "rich_click",
    "uuid-utils": "uuid_utils",
}
"""Module of a package, where it has another name."""

CHOSEN_FOR = {
    "advanced-alchemy": ("adapters/postgres/schema", "adapters/postgres/migrations", "adapters/postgres/own_queries"),
    "aiosmtplib": ("adapters/mail",),
    "alembic": ("adapters/postgres/migrations",),
    "argon2-cffi": ("adapters/argon2",),
    "asyncpg": ("adapters/postgres",),
    "bcrypt": ("adapters/argon2",),
    "click": ("entrypoints",),
    "cryptography": ("adapters/joserfc",),
    "dnspython": ("adapters/dns",),
    "fido2": ("adapters/fido2",),
    "granian": ("entrypoints/server",),
    "hiredis": ("adapters/redis",),
    "httpx2": ("adapters/social",),
    "idna": ("domain/identity",),
    "jinja2": ("adapters/mail",),
    "joserfc": ("adapters/joserfc",),
    "litestar": ("adapters/http",),
    "msgspec": ("domain", "application", "adapters/http"),
    "multipart": ("adapters/http",),
    "polars": ("adapters/sheets",),
    "prometheus-client": ("adapters/prometheus",),
    "redis": ("adapters/redis",),
    "rich": ("entrypoints/cli",),
    "rich-click": ("entrypoints/cli",),
    "segno": ("adapters/qr",),
    "sqlalchemy": ("adapters/postgres/schema", "adapters/postgres/statements", "adapters/postgres/own_queries"),
    "structlog": ("entrypoints",),
    "uuid-utils": ("adapters/system.py",),
    "xlsxwriter": ("adapters/sheets",),
}
"""Paths that import each package; every one of them does."""

NOT_IMPORTED = {
    "tzdata": "zoneinfo reads it where the system has no time zones, as in small images",
    "uvloop": "granian runs its workers on it: Loops.uvloop",
}
"""Packages that another one uses without an import of ours, with the reason."""


def name_of(requirement: str) -> str:
    """The package that a requirement names: ``advanced-alchemy[uuid]>=1.12`` is ``advanced-alchemy``."""
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found[0].lower()


DECLARED = sorted(map(name_of, PROJECT["dependencies"]))


@cache
def modules_imported(path: Path) -> frozenset[str]:
    """Names of the top-level modules that a file imports, wherever in it."""
    return frozenset(_modules_imported(path))


def _modules_imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def imported_below(place: Path) -> set[str]:
    files = [place] if place.is_file() else place.rglob("*.py")
    return {module for file in files for module in modules_imported(file)}


@pytest.mark.parametrize("package", [name for name in DECLARED if name not in NOT_IMPORTED])
def test_a_declared_package_is_imported_by_the_part_that_it_was_chosen_for(package: str) -> None:
    assert package in CHOSEN_FOR, f"say in CHOSEN_FOR which part {package} is for, or why none imports it"
    for place in CHOSEN_FOR[package]:
        module = IMPORTED_AS.get(package, package)
        assert module in imported_below(ROOT / place), f"{place} does not import {package}: use it there, or drop it"


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if (ROOT / layer).is_dir()])
def test_nothing_undeclared_is_imported(layer: str) -> None:
    given = PROJECT.get("optional-dependencies", {})
    extras = [name_of(requirement) for extra in ("testing", "traces") for requirement in given.get(extra, [])]
    declared = {IMPORTED_AS.get(name, name) for name in [*DECLARED, *extras]}
    strangers = imported_below(ROOT / layer) - set(sys.stdlib_module_names) - FIRST_PARTY - declared
    assert strangers == set(), "declare them in pyproject.toml"
