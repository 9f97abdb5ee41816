"""``make watch``: which tests belong to a change, and that the watcher runs them when a file is saved."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.watch import MOST, ROOT, belonging_to, changed, times

pytestmark = pytest.mark.end_to_end


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("tests/test_watch.py", "tests/test_watch.py"),
        ("domain/identity/redirects.py", "tests/domain/identity/test_redirects.py"),
        ("entrypoints/cli/completion.py", "tests/entrypoints/test_completion.py"),
        ("docs/passkeys.md", "tests/http/docs/test_passkeys_page.py"),
    ],
)
def test_the_tests_of_a_file_are_found(path: str, test: str) -> None:
    found = belonging_to(ROOT / path, ROOT)
    assert ROOT / test in found
    assert len(found) <= MOST


def _project(folder: Path) -> Path:
    for name, text in {
        "domain/prices.py": "PRICE = 1\n",
        "application/sums.py": "from domain.prices import PRICE\nSUM = PRICE\n",
        "tests/test_sums.py": "from application.sums import SUM\n\ndef test_sum():\n    assert SUM\n",
        "tests/test_others.py": "def test_other():\n    pass\n",
        ".venv/lib/domain.py": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_module_without_tests_of_its_own_has_those_of_its_importers(tmp_path: Path) -> None:
    root = _project(tmp_path)
    assert belonging_to(root / "domain" / "prices.py", root) == [root / "tests" / "test_sums.py"]


def test_what_is_saved_is_noticed_and_environments_are_not(tmp_path: Path) -> None:
    root = _project(tmp_path)
    before = times(root)
    assert len(before) == 4
    (root / ".venv" / "lib" / "domain.py").write_text("changed")
    assert changed(before, times(root)) == []
    os.utime(root / "domain" / "prices.py", ns=(1, 1))
    assert changed(before, times(root)) == [root / "domain" / "prices.py"]


def test_a_saved_file_runs_its_tests(tmp_path: Path) -> None:
    root = _project(tmp_path)
    for folder in ("domain", "application"):  # packages, or those of this clone would be found first
        (root / folder / "__init__.py").touch()
    (root / "tests" / "watch.py").write_text((ROOT / "tests" / "watch.py").read_text())
    # no:tenantry, as its packages of the same names stand in the way of those of the clone
    with subprocess.Popen(
        [sys.executable, "-u", "tests/watch.py", "-p", "no:cacheprovider", "-p", "no:tenantry"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        text=True,
    ) as watcher:
        try:
            assert watcher.stdout is not None
            assert watcher.stdout.readline().startswith("Watching")
            (root / "domain" / "prices.py").write_text("PRICE = 2\n")
            said = ""
            while "1 passed" not in said:
                line = watcher.stdout.readline()
                assert line, said
                said += line
        finally:
            watcher.terminate()
    assert "domain/prices.py: 1 test files" in said
