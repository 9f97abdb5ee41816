"""Folders and files that cannot be written: each command says which one and what to do, and leaves nothing behind."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from entrypoints.settings.variables import SECRET_LENGTH
from tests.entrypoints.processes import COMMAND, Tenantry, environment, free_port

NOWHERE = "/dev/null/x"
"""A path that nobody can make, root neither: what is above it is no folder."""
TOO_LONG = "x" * 300


@pytest.fixture
def acme(tenantry: Tenantry, migrated: dict[str, str]) -> dict[str, str]:
    """Settings of servers with the tenant acme."""
    assert tenantry("tenants", "create", "acme", **migrated).returncode == 0
    return migrated


@pytest.mark.parametrize("path", [NOWHERE, f"{NOWHERE}/x", "/nonexistent/folder/x.csv", TOO_LONG, "/dev/null"])
def test_an_export_to_an_impossible_path_is_reported(tenantry: Tenantry, acme: dict[str, str], path: str) -> None:
    ended = tenantry("export", "products", "--tenant", "acme", "--out", path, **acme)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith(path)
    assert ": name a file" in ended.stderr
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_export_to_a_full_disk_is_not_reported_as_a_wrong_argument(
    tenantry: Tenantry, acme: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".rows.csv.part").symlink_to("/dev/full")
    ended = tenantry("export", "products", "--tenant", "acme", "--out", "rows.csv", **acme)
    assert (ended.returncode, ended.stdout) == (1, ""), ended.stderr
    assert ended.stderr.startswith("rows.csv cannot be written (No space left on device): ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [NOWHERE, f"{NOWHERE}/x", TOO_LONG])
def test_a_backup_to_an_impossible_path_is_reported(tenantry: Tenantry, migrated: dict[str, str], path: str) -> None:
    ended = tenantry("backup", path, **migrated)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith(f"{path} cannot be written (")
    assert ended.stderr.endswith("): name a new folder where this account may write.\n")


@pytest.mark.parametrize("path", [NOWHERE, f"{NOWHERE}/x", TOO_LONG])
def test_a_project_at_an_impossible_path_is_reported(tenantry: Tenantry, path: str) -> None:
    ended = tenantry("init", path)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith(f"{path} cannot be written (")


def test_writing_a_migration_without_a_folder_is_reported(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    assert tenantry("init", ".").returncode == 0
    shutil.rmtree(tmp_path / "migrations")
    (tmp_path / "migrations").touch()
    ended = tenantry("migrate", "--write", "books", **migrated, ENTITIES="books.py")
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith(f"{tmp_path / 'migrations'} cannot be written (File exists): make it a folder")


@pytest.mark.parametrize("command", [("serve",), ("tenants", "list"), ("mail", "open")])
def test_a_data_dir_that_cannot_be_created_is_reported_with_its_variable(
    tenantry: Tenantry, command: tuple[str, ...]
) -> None:
    ended = tenantry(*command, DATA_DIR=NOWHERE, PORT=str(free_port()))
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr == (
        f"The folder {NOWHERE}, which is that of TENANTRY_DATA_DIR, cannot be written (Not a directory):"
        " let TENANTRY_DATA_DIR be a folder in which this account may write.\n"
    )


def test_a_lost_secret_key_is_not_recreated_for_an_existing_database(tenantry: Tenantry, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "postgres").mkdir(parents=True)
    for command in ("tenants", "list"), ("serve",):
        ended = tenantry(*command, DATA_DIR=str(data), PORT=str(free_port()))
        assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
        assert ended.stderr.startswith(f"{data}/secret.key is not there, and {data}/postgres was made with it: put the")
    assert [file.name for file in data.iterdir()] == ["postgres"]


def test_a_secret_key_is_made_before_the_database(tenantry: Tenantry, tmp_path: Path) -> None:
    (tmp_path / ".data" / "sockets").mkdir(parents=True)  # the start breaks off at it, before its database
    assert tenantry("tenants", "list").returncode == 4
    assert len((tmp_path / ".data" / "secret.key").read_text()) >= SECRET_LENGTH
    assert not (tmp_path / ".data" / "postgres").exists()


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 8])
def test_a_truncated_secret_key_is_reported(tenantry: Tenantry, tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".data").mkdir()
    (tmp_path / ".data" / "secret.key").write_bytes(content)
    ended = tenantry("tenants", "list")
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith(".data/secret.key does not hold the key that it was made with: put it back")


def test_an_unknown_home_folder_is_reported_as_a_wrong_setting(tenantry: Tenantry) -> None:
    ended = tenantry("tenants", "list", DATA_DIR="~nobodyxyz/x")
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert "TENANTRY_DATA_DIR got '~nobodyxyz/x'; it must be a folder" in ended.stderr


@pytest.mark.parametrize("command", ["settings", "tenants list"])
def test_a_removed_current_folder_is_reported(tmp_path: Path, command: str) -> None:
    (tmp_path / "gone").mkdir()
    script = f"rmdir ../gone && {shlex.join(COMMAND)} {command}"
    ended = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path / "gone", env=environment({}), capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "The current folder is not there any more: change to another one.\n"
