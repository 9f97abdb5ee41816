"""The locks in requirements/: what each pins."""

import re
from pathlib import Path

LOCKS = sorted((Path(__file__).resolve().parents[2] / "requirements").glob("*.txt"))
SHIPPED = [file for file in LOCKS if file.stem in ("run", "server")]

_PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[([^]\n]*)\])?==([^ ;\\\n]+)([^\n\\]*(?:\\\n[^\n\\]*)*)", re.MULTILINE)


def versions(text: str) -> dict[str, str]:
    """Version of each package of a lock's text."""
    return {name: version for name, _, version, _ in _PINNED.findall(text)}


def extras(text: str) -> dict[str, set[str]]:
    """Extras that the lines of a lock name."""
    return {name: set(named.split(",")) if named else set() for name, named, _, _ in _PINNED.findall(text)}


def unpinned(text: str) -> list[str]:
    """Lines of a lock that accept more than one version, or a file of any content."""
    good = {name for name, _, _, rest in _PINNED.findall(text) if re.search(r"--hash=sha256:[0-9a-f]{64}", rest)}
    return [name for name in re.findall(r"^([A-Za-z0-9._-]+)", text, re.MULTILINE) if name not in good]
