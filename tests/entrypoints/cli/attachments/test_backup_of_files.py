"""Backups with the contents of files: what comes back is what was there, to the byte, and damage is reported."""

import json
from pathlib import Path

from tests.conftest import NewDatabase
from tests.entrypoints.processes import Tenantry
from tests.entrypoints.stored_files import TENANT, add_file


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_contents_of_files_come_back_to_the_byte(
    tenantry: Tenantry, migrated: dict[str, str], empty_database: NewDatabase, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    for number in range(20):
        await add_file(migrated["DATABASE_URL"], store, f"content {number}".encode() * number)
    before = contents(store)
    first, *_ = [path for path in store.rglob("*") if path.is_file()]
    first.with_name(f"{first.name}.small").write_bytes(b"thumbnail")
    (store / "letter.txt").write_bytes(b"not a file of a row")
    made = tenantry("backup", "first", **migrated, FILES_URL=f"file://{store}")
    assert (made.returncode, made.stderr) == (0, "")
    assert "It has the contents of 20 files." in made.stdout
    copies = [path for path in (tmp_path / "first" / "files").rglob("*") if path.is_file()]
    assert {path.name for path in copies} == set(before)
    assert {path.stat().st_mode & 0o077 for path in copies} == {0}

    other = {**migrated, "DATABASE_URL": await empty_database(), "FILES_URL": f"file://{tmp_path}/other"}
    restored = tenantry("restore", "first", "--json", **other)
    assert (restored.returncode, restored.stderr) == (0, "")
    found = json.loads(restored.stdout)["files"]
    assert (found["files"], found["isConsistent"], found["unknown"]) == (20, True, [])
    assert contents(tmp_path / "other") == before


async def test_a_restore_fails_if_contents_are_damaged_or_missing(
    tenantry: Tenantry, migrated: dict[str, str], empty_database: NewDatabase, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    damaged, lost = [await add_file(migrated["DATABASE_URL"], store) for _ in range(2)]
    assert tenantry("backup", "first", **migrated, FILES_URL=f"file://{store}").returncode == 0
    copies = tmp_path / "first" / "files" / TENANT / "2026" / "11"
    (copies / str(damaged)).write_bytes(b"CONTENT")
    (copies / str(lost)).unlink()
    other = {**migrated, "DATABASE_URL": await empty_database(), "FILES_URL": f"file://{tmp_path}/other"}
    restored = tenantry("restore", "first", "--json", **other)
    assert (restored.returncode, "The database is restored" in restored.stderr) == (1, True)
    found = json.loads(restored.stdout)["files"]
    assert (found["missing"], found["altered"]) == ([str(lost)], [str(damaged)])
    (tmp_path / "full").write_bytes(b"a file in place of the folder")
    again = {**other, "FILES_URL": f"file://{tmp_path}/full"}
    failed = tenantry("restore", "first", "--replace", **again)
    assert (failed.returncode, "the contents of its files are not" in failed.stderr) == (4, True), failed.stderr


def test_a_backup_names_a_remote_store(tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path) -> None:
    url = "s3://bucket/files?endpoint=http://127.0.0.1:9"
    made = tenantry("backup", "first", **migrated, FILES_URL=url, FILES_KEY_ID="id", FILES_SECRET="hidden")
    assert (made.returncode, made.stderr) == (0, "")
    assert f"The contents of files are not in it, but in {url}" in made.stdout
    description = (tmp_path / "first" / "backup.json").read_text()
    assert json.loads(description)["files"]["url"] == url
    assert "hidden" not in description
    assert not (tmp_path / "first" / "files").exists()
