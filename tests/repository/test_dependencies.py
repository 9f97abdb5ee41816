"""Declared dependencies are imported by the part that they were chosen for, and nothing else is imported.

Licences of everything that is shipped: they are listed, and each allows what the project's own licence promises.

Every lock pins versions with hashes, and names the extras that its packages need.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

import pytest

from tests.repository.locks import LOCKS, SHIPPED, extras, unpinned, versions

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("domain", "application", "adapters", "entrypoints", "tenantry")
FIRST_PARTY = {*LAYERS, "tests", "benchmarks"}

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

IMPORTED_AS = {
    "advanced-alchemy": "advanced_alchemy",
    "argon2-cffi": "argon2",
    "dnspython": "dns",
    "opentelemetry-sdk": "opentelemetry",  # a namespace of all its packages
    "pillow": "PIL",
    "prometheus-client": "prometheus_client",
    "rich-click": "rich_click",
    "uuid-utils": "uuid_utils",
}
"""Module of a package, where it has another name."""

CHOSEN_FOR = {
    "advanced-alchemy": ("adapters/postgres/migrations", "adapters/postgres/own_queries"),
    "aiosmtplib": ("adapters/mail",),
    "alembic": ("adapters/postgres/migrations",),
    "argon2-cffi": ("adapters/argon2",),
    "asyncpg": ("adapters/postgres",),
    "bcrypt": ("adapters/argon2",),
    "click": ("entrypoints",),
    "cryptography": ("adapters/joserfc", "adapters/outgoing"),
    "dnspython": ("adapters/dns", "adapters/outgoing"),
    "fido2": ("adapters/fido2",),
    "granian": ("entrypoints/server",),
    "hiredis": ("adapters/redis",),
    "httpcore2": ("adapters/outgoing",),
    "httpx2": ("adapters/social",),
    "idna": ("domain/identity",),
    "jinja2": ("adapters/mail",),
    "joserfc": ("adapters/joserfc",),
    "litestar": ("adapters/http",),
    "msgspec": ("domain", "application", "adapters/http"),
    "multipart": ("adapters/http",),
    "polars": ("adapters/sheets",),
    "prometheus-client": ("adapters/prometheus",),
    "puremagic": ("adapters/contents",),
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
    extras = [name_of(requirement) for extra in given for requirement in given.get(extra, [])]
    declared = {IMPORTED_AS.get(name, name) for name in [*DECLARED, *extras]}
    strangers = imported_below(ROOT / layer) - set(sys.stdlib_module_names) - FIRST_PARTY - declared
    assert strangers == set(), "declare them in pyproject.toml"


PAGE = ROOT / "requirements" / "LICENCES.md"

ALLOWED = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0"}
"""Licences that ask for no more than to be named; MPL-2.0 is of whole files that nobody changes here."""

AS_CLASSIFIED = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def shipped() -> set[str]:
    """Packages that an installation has; those of other systems and Pythons are not here to be asked."""
    return {name for file in SHIPPED for name in versions(file.read_text()) if _is_installed(name)}


def _is_installed(name: str) -> bool:
    try:
        metadata(name)
    except PackageNotFoundError:
        return False
    return True


def licence_of(name: str) -> str:
    told = metadata(name)
    if "License-Expression" in told:
        return told["License-Expression"]
    named = [label.rpartition(" :: ")[2] for label in told.get_all("Classifier") or [] if label.startswith("License")]
    if named:
        return " OR ".join(sorted(AS_CLASSIFIED[label] for label in named))
    first = told["License"].splitlines()[0].strip()
    return AS_CLASSIFIED.get(first, first)


def test_every_licence_is_allowed() -> None:
    for name in shipped():
        licence = licence_of(name)
        chosen = [set(part.split(" AND ")) for part in licence.split(" OR ")]
        assert any(part <= ALLOWED for part in chosen), f"{name}: {licence}"


def test_the_page_lists_the_shipped_packages() -> None:
    listed = dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    assert {name: licence_of(name) for name in shipped()} == {
        name: licence for name, licence in listed.items() if _is_installed(name)
    }


HASH = f"--hash=sha256:{'a' * 64}"


def without_extras(text: str) -> list[str]:
    """Extras that a package of the lock needs and the lock does not name: ``["pytest-cov: coverage[toml]"]``.

    pip 23.2, which comes with Python 3.11, takes the newest version of such a package, and refuses it because the lock
    has no hash of it: the lock stops working on the day of the package's next release.
    """
    named = extras(text)
    return [
        f"{package}: {name}[{extra}]"
        for package in named
        for requirement in needed(package)
        for name, wanted in re.findall(r"^([A-Za-z0-9._-]+) ?\[([^]]+)\]", requirement)
        for extra in re.split(r", ?", wanted)
        if extra not in named.get(re.sub(r"[-_.]+", "-", name).lower(), set())
    ]


def needed(package: str) -> list[str]:
    """Requirements of an installed package without its extras; none of a package that is not installed."""
    try:
        return [requirement for requirement in requires(package) or [] if "extra ==" not in requirement]
    except PackageNotFoundError:
        return []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_pins_each_package_to_one_version_with_hashes(lock: Path) -> None:
    text = lock.read_text()
    assert versions(text)
    assert unpinned(text) == without_extras(text) == []


def test_there_is_a_lock_for_each_use() -> None:
    assert {lock.stem for lock in LOCKS} >= {"run", "server", "traces", "files", "dev", "build", "audit"}


@pytest.mark.parametrize("extended", ["traces", "files"])
def test_an_image_with_extras_has_all_that_one_without_has(extended: str) -> None:
    server, more = (versions((ROOT / "requirements" / f"{name}.txt").read_text()) for name in ("server", extended))
    assert server.items() <= more.items()


@pytest.mark.parametrize(("lock", "extras"), [("traces", ["traces"]), ("files", ["images", "objects"])])
def test_a_lock_pins_the_packages_of_its_extras(lock: str, extras: list[str]) -> None:
    pinned = versions((ROOT / "requirements" / f"{lock}.txt").read_text())
    wanted = {name_of(each) for extra in extras for each in PROJECT["optional-dependencies"][extra]}
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in wanted} <= pinned.keys()


@pytest.mark.parametrize("line", ["msgspec>=0.22", "msgspec==0.22.0", "msgspec"])
def test_a_line_without_one_version_and_hashes_is_found(line: str) -> None:
    text = f"{line}\nidna==3.20 \\\n    {HASH}\n"
    assert unpinned(text) == ["msgspec"]
    assert versions(text)["idna"] == "3.20"


@pytest.mark.parametrize(("pin", "expected"), [("coverage", ["pytest-cov: coverage[toml]"]), ("coverage[toml]", [])])
def test_an_extra_that_a_lock_leaves_out_is_found(pin: str, expected: list[str]) -> None:
    text = f"{pin}==7.17.3 \\\n    {HASH}\npytest-cov==7.1.0 \\\n    {HASH}\n"
    assert without_extras(text) == expected
    assert unpinned(text) == []


def test_the_security_page_states_times_for_updates() -> None:
    times = re.findall(r"^\| a(?:nother)? .*\b(\d+) days.* \|$", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    assert times == ["3", "14", "60", "90"]
