"""``tenantry files check``: the store of files, compared with the database."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import asyncpg

from tests.builders import new_id
from tests.entrypoints.processes import Tenantry

TENANT = "01900000-0000-7000-8000-000000000001"
KEY = f"{TENANT}/2026/11/01900000-0000-7000-8000-000000000002"
MADE_AT = datetime(2026, 11, 1, tzinfo=UTC)
CONTENT = b"content"
ADD = """
WITH added AS (
    INSERT INTO files (tenant_id, id, purpose, name, type, size, sha256, sizes, state, since, created_at)
    VALUES ($1, $2, 'products.photo', 'a.png', 'image/png', $3, $4, '{}', 'temporary', $5, $5) RETURNING tenant_id, size
)
INSERT INTO file_usage AS u SELECT tenant_id, size, 1 FROM added
ON CONFLICT (tenant_id) DO UPDATE SET bytes = u.bytes + excluded.bytes, files = u.files + 1"""


async def add_file(database_url: str, store: Path | None) -> UUID:
    """Add a temporary file, with its content if ``store`` is given."""
    file_id = new_id()
    connection = await asyncpg.connect(database_url)
    try:
        digest = hashlib.sha256(CONTENT).hexdigest()
        await connection.execute(ADD, UUID(TENANT), file_id, len(CONTENT), digest, MADE_AT)
    finally:
        await connection.close()
    if store is not None:
        folder = store / TENANT / "2026" / "11"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(file_id)).write_bytes(CONTENT)
    return file_id


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
