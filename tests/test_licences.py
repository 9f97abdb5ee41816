"""Licences of everything that is shipped: they are listed, and each allows what the project's own licence promises."""

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from tests.locks import SHIPPED, versions

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "third-party.md"

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


def test_the_page_lists_what_is_shipped() -> None:
    listed = dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    assert {name: licence_of(name) for name in shipped()} == {
        name: licence for name, licence in listed.items() if _is_installed(name)
    }
