"""``make install``: a link to the command, in a home of the test's own; and what ``make migrate`` runs."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.waiting import HUNG_AFTER

pytestmark = pytest.mark.end_to_end

ROOT = Path(__file__).resolve().parents[2]


def _install(home: Path, *arguments: str, path: str = "") -> "subprocess.CompletedProcess[str]":
    # -o: the environment of these tests is not made anew
    return subprocess.run(
        ["make", "-s", "-o", ".venv/run", "install", *arguments],
        cwd=ROOT,
        env={**os.environ, "HOME": str(home), "PATH": f"{os.environ['PATH']}{path}"},
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=False,
    )


def test_install_links_the_command_and_reports_a_path_that_lacks_the_folder(tmp_path: Path) -> None:
    made = _install(tmp_path)
    assert made.returncode == 0, made.stderr
    link = tmp_path / ".local" / "bin" / "tenantry"
    assert link.readlink() == ROOT / ".venv" / "bin" / "tenantry"
    assert (
        f'{link.parent} is not on the PATH. Add to the start-up file of your shell: export PATH="{link.parent}:$PATH"'
        in (made.stdout)
    )
    again = _install(tmp_path, path=f":{link.parent}")
    assert again.returncode == 0, again.stderr
    assert "is not on the PATH" not in again.stdout


def test_install_accepts_another_folder_and_does_not_replace_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "my tools"
    assert _install(tmp_path, f"DEST={folder}").returncode == 0
    assert (folder / "tenantry").is_symlink()
    (folder / "tenantry").unlink()
    (folder / "tenantry").write_text("mine")
    refused = _install(tmp_path, f"DEST={folder}")
    assert refused.returncode == 2
    assert "nothing was changed" in refused.stderr
    assert (folder / "tenantry").read_text() == "mine"


@pytest.mark.promise(
    "migrations, workflow: make migrate MESSAGE=… writes and make migrate applies; what is written is shown with its "
    "notes and how to apply it"
)
def test_make_migrate_writes_a_message_and_applies_without_one() -> None:
    for given, command in (
        ([], ".venv/bin/tenantry migrate"),
        (["MESSAGE=books have a shelf"], '.venv/bin/tenantry migrate --write "books have a shelf"'),
    ):
        run = ["make", "-sn", "-o", ".venv/run", "migrate", *given]
        told = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=HUNG_AFTER, check=False)
        assert told.stdout.strip() == f"exec {command}", told.stderr
