"""Every lock pins versions with hashes, and names the extras that its packages need."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest

from tests.locks import LOCKS, extras, unpinned, versions

ROOT = Path(__file__).resolve().parent.parent
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
    assert {lock.stem for lock in LOCKS} >= {"run", "server", "traces", "dev", "build", "audit"}


def test_an_image_with_traces_has_all_that_one_without_has() -> None:
    server, traces = (versions((ROOT / "requirements" / f"{name}.txt").read_text()) for name in ("server", "traces"))
    assert server.items() <= traces.items()


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
