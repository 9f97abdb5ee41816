"""Files in the database and in a folder, as uploads leave them."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import asyncpg

from tests.builders import new_id

TENANT = "01900000-0000-7000-8000-000000000001"
CONTENT = b"content"
_MADE_AT = datetime(2026, 11, 1, tzinfo=UTC)
_ADD = """
WITH added AS (
    INSERT INTO files (tenant_id, id, purpose, name, type, size, sha256, sizes, state, since, created_at)
    VALUES ($1, $2, 'pictures.photo', 'a.png', 'image/png', $3, $4, '{}', 'held', $5, $5) RETURNING tenant_id, size
)
INSERT INTO file_usage AS u SELECT tenant_id, size, 1 FROM added
ON CONFLICT (tenant_id) DO UPDATE SET bytes = u.bytes + excluded.bytes, files = u.files + 1"""


async def add_file(database_url: str, store: Path | None, content: bytes = CONTENT) -> UUID:
    """Add a file, with its content if ``store`` is given. No field has its purpose, so no row has to hold it."""
    file_id = new_id()
    connection = await asyncpg.connect(database_url)
    try:
        digest = hashlib.sha256(content).hexdigest()
        await connection.execute(_ADD, UUID(TENANT), file_id, len(content), digest, _MADE_AT)
    finally:
        await connection.close()
    if store is not None:
        folder = store / TENANT / "2026" / "11"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(file_id)).write_bytes(content)
    return file_id
