"""Audit of what is shipped: pins, hashes and licences without a network, known weaknesses where a database answers."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from supply_chain.locks import ROOT, SHIPPED, pinned_without_extras, shipped, unpinned

AUDITOR = "pip-audit==2.10.1"
ALLOWED = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0"}
"""Licences that ask for no more than to be named; MPL-2.0 is of whole files that nobody changes here."""
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
WAITED = 300.0


def mistakes() -> Iterator[str]:
    """Sentences about what is wrong with the locks and the licences."""
    for file in LOCKS:
        for name in unpinned(file):
            yield f"{file.name}: {name} is not pinned to one version with hashes."
        for name in pinned_without_extras(file):
            yield f"{file.name}: {name} is asked for, and pinned without that extra."
    for package in shipped():
        if package.licence is None:
            yield f"{package.url} has no licence in docs/third-party.md."
        elif not is_allowed(package.licence):
            yield f"{package.url} has the licence {package.licence}, which is not among the allowed ones."


def is_allowed(licence: str) -> bool:
    """Whether one of the licences that a package offers (``MIT OR Apache-2.0``) is allowed in all its parts."""
    return any(set(part.strip("() ").split(" AND ")) <= ALLOWED for part in licence.split(" OR "))


def known_weaknesses(file: Path) -> tuple[int, str]:
    """Exit code and words of pip-audit on a lock: 0 for none, 1 for some or where no database answers."""
    uv = Path(sys.executable).with_name("uv")
    asked = [
        str(uv),
        "tool",
        "run",
        "--from",
        AUDITOR,
        "pip-audit",
        "--disable-pip",
        "--require-hashes",
        "-r",
        str(file),
    ]
    try:
        ended = subprocess.run(
            [*asked, "--progress-spinner", "off"], capture_output=True, text=True, check=False, timeout=WAITED
        )
    except subprocess.TimeoutExpired:
        return 1, f"pip-audit did not end within {WAITED:.0f} seconds"
    return ended.returncode, f"{ended.stdout}{ended.stderr}".strip()


Looked = Literal["none found", "found", "not looked for"]


def judged(code: int, said: str) -> Looked:
    """What an answer of pip-audit means: it ends well also where it could ask about none of the packages."""
    if re.search(r"Found \d+ known vulnerabilit", said):
        return "found"
    return "not looked for" if code or "could not be audited" in said else "none found"


def main(look: Callable[[Path], tuple[int, str]] = known_weaknesses) -> int:
    """0 where all is well, 1 for a finding, 3 where weaknesses could not be looked for."""
    wrong = list(mistakes())
    print("\n".join(wrong) or f"{len(shipped())} packages: versions and hashes are pinned, licences are allowed.")
    results = set()
    for file in SHIPPED:
        code, said = look(file)
        results.add(result := judged(code, said))
        print(f"{file.name}, known weaknesses: {result}.")
        if result != "none found":
            print(said[-2_000:])
    if wrong or "found" in results:
        return 1
    return 3 if "not looked for" in results else 0


if __name__ == "__main__":
    sys.exit(main())
