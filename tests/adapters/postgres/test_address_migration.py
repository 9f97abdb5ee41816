"""Migration 0052: keys of stored addresses beyond ASCII."""

import logging

import asyncpg
import pytest

from adapters.postgres.migrations.commands import run_command
from adapters.postgres.migrations.migrate import upgrade
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import Registry
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase

BEFORE = {
    "ada@example.com": "ada@example.com",
    "ceo@Straße.example": "ceo@strasse.example",
    "cfo@strasse.example": "cfo@strasse.example",
    "cto@bücher.example": "cto@xn--bcher-kva.example",
    "straße@example.com": "strasse@example.com",
}


async def test_addresses_beyond_ascii_get_their_new_form(
    empty_database: NewDatabase, registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    url = await empty_database()
    await run_command(url, metadata_for(registry), (VERSIONS,), lambda commands: commands.upgrade("0051"))
    connection = await asyncpg.connect(url)
    try:
        for email, key in BEFORE.items():
            await connection.execute(
                "INSERT INTO users (id, email, email_key, full_name, created_at, updated_at) "
                "VALUES ($1, $2, $3, 'x', $4, $4)",
                *(new_id(), email, key, NOW),
            )
        with caplog.at_level(logging.WARNING):
            await upgrade(url, registry)
        rows = await connection.fetch("SELECT id, email, email_key FROM users")
    finally:
        await connection.close()
    assert {row["email"]: row["email_key"] for row in rows} == {
        **BEFORE,
        "ceo@Straße.example": "ceo@xn--strae-oqa.example",
    }
    (told,) = [row["id"] for row in rows if row["email"] == "straße@example.com"]
    (warning,) = [record.getMessage() for record in caplog.records if "address of account" in record.getMessage()]
    assert str(told) in warning
