"""``tenantry files check``: the store of files, compared with the database."""

import json
from pathlib import Path

from tests.entrypoints.processes import Tenantry
from tests.entrypoints.stored_files import TENANT, add_file

KEY = f"{TENANT}/2026/11/01900000-0000-7000-8000-000000000002"


async def test_files_without_content_or_with_another_one_are_failures(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    settings = {**migrated, "FILES_URL": f"file://{store}"}
    whole = await add_file(migrated["DATABASE_URL"], store)
    right = tenantry("files", "check", "--digests", "--json", **settings)
    assert (right.returncode, right.stderr) == (0, "")
    assert json.loads(right.stdout)["isConsistent"] is True
    (store / TENANT / "2026" / "11" / str(whole)).write_bytes(b"CONTENT")
    assert tenantry("files", "check", **settings).returncode == 0
    altered = tenantry("files", "check", "--digests", "--json", **settings)
    assert (altered.returncode, json.loads(altered.stdout)["altered"]) == (1, [str(whole)])
    missing = await add_file(migrated["DATABASE_URL"], None)
    found = tenantry("files", "check", "--repair", **settings)
    assert (found.returncode, found.stdout) == (1, "")
    assert "2 files, 1 without content, 0 contents without a file." in found.stderr
    assert f"without content: {missing}" in found.stderr


async def test_a_store_that_cannot_be_read_is_an_outage(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    url = "s3://bucket/files?endpoint=http://127.0.0.1:9"
    found = tenantry("files", "check", FILES_URL=url, FILES_KEY_ID="id", FILES_SECRET="secret", **migrated)
    assert (found.returncode, "The store of files fails" in found.stderr) == (4, True), found.stderr


def test_contents_without_a_file_are_reported_and_deleted_on_request(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    content = tmp_path / "store" / KEY
    content.parent.mkdir(parents=True)
    content.write_bytes(b"content")
    foreign = tmp_path / "store" / "letter to a customer.txt"
    foreign.write_bytes(b"content")
    settings = {**migrated, "FILES_URL": f"file://{tmp_path}/store"}
    found = tenantry("files", "check", **settings)
    assert (found.returncode, found.stderr) == (0, "")
    assert "1 contents without a file." in found.stdout
    assert KEY in found.stdout
    assert content.exists()
    repaired = tenantry("files", "check", "--repair", **settings)
    assert (repaired.returncode, repaired.stderr) == (0, "")
    assert not content.exists()
    assert foreign.exists()
    assert f"not made by the service, and left: {foreign.name}" in repaired.stdout
    assert "0 contents without a file." in tenantry("files", "check", **settings).stdout
