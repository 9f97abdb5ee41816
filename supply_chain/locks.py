"""Packages of the lock files, and of the console's lock."""

import json
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = (ROOT / "requirements" / "run.txt", ROOT / "requirements" / "server.txt")
CONSOLE = ROOT / "adapters" / "console" / "source" / "package-lock.json"
LICENCES = ROOT / "docs" / "third-party.md"

_PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[[^]\n]*\])?==([^ ;\\\n]+)([^\n\\]*(?:\\\n[^\n\\]*)*)", re.MULTILINE)
_WITH_EXTRAS = re.compile(r"^([A-Za-z0-9._-]+) ?\[([^]]+)\]", re.MULTILINE)


class Package(NamedTuple):
    """``hashes`` are SHA-256 in hex, one for each file that the lock accepts."""

    ecosystem: str
    name: str
    version: str
    licence: str | None
    hashes: tuple[str, ...]

    @property
    def url(self) -> str:
        """Package URL: ``pkg:pypi/msgspec@0.22.0``."""
        return f"pkg:{self.ecosystem}/{self.name.replace('@', '%40')}@{self.version}"


def shipped() -> list[Package]:
    """Every package of an installation or an image, and those that are built into the console."""
    licences = dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", LICENCES.read_text("utf-8"), re.MULTILINE))
    found = {
        name: Package("pypi", name, version, licences.get(name), hashes)
        for file in SHIPPED
        for name, version, hashes in pinned(file)
    }
    return [*(found[name] for name in sorted(found)), *_of_console()]


def pinned(file: Path) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Name, version and hashes of each line of a lock."""
    return pinned_in(file.read_text())


def pinned_in(text: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Name, version and hashes of each line of a lock's text."""
    for name, version, rest in _PINNED.findall(text):
        yield name, version, tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", rest))


def unpinned(file: Path) -> list[str]:
    """Lines of a lock that accept more than one version, or a file of any content."""
    good = {name for name, _, hashes in pinned(file) if hashes}
    named = re.findall(r"^([A-Za-z0-9._-]+)", file.read_text(), re.MULTILINE)
    return [name for name in named if name not in good]


def pinned_without_extras(file: Path) -> list[str]:
    """Extras that a package of the lock asks for and the lock does not name: ``["pytest-cov: coverage[toml]"]``.

    pip 23.2, which comes with Python 3.11, takes the newest version of such a package, and then refuses it for want of
    a hash: the lock stops working on the day of the package's next release.
    """
    named = {name: set(re.split(r", ?", extras)) for name, extras in _WITH_EXTRAS.findall(file.read_text())}
    return [
        f"{asking}: {name}[{extra}]"
        for asking, _, _ in pinned(file)
        for requirement in _asked_by(asking)
        for name, extras in _WITH_EXTRAS.findall(requirement)
        for extra in re.split(r", ?", extras)
        if extra not in named.get(_normalised(name), ())
    ]


def needs(name: str, among: set[str]) -> list[str]:
    """Packages of ``among`` that an installed package asks for; none for one of another system."""
    names = {_normalised(re.split(r"[ ;\[<>=!~(]", requirement)[0]) for requirement in _asked_by(name)}
    return sorted(names & among)


def _asked_by(name: str) -> list[str]:
    """Requirements of an installed package without its extras; none of a package that is not installed."""
    try:
        asked = requires(name) or []
    except PackageNotFoundError:
        return []
    return [requirement for requirement in asked if "extra ==" not in requirement]


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _of_console() -> Iterator[Package]:
    for path, package in json.loads(CONSOLE.read_text())["packages"].items():
        # tools that build it leave nothing in it
        if path and not package.get("dev") and not package.get("optional"):
            name = path.rpartition("node_modules/")[2]
            yield Package("npm", name, package["version"], package.get("license"), ())
