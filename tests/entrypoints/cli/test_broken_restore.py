"""A restore with --replace that was killed: nothing is served or migrated before one of its two ends is chosen."""

import asyncpg

from adapters.postgres.backup.replaced_objects import set_aside
from tests.entrypoints.processes import Tenantry, free_port


async def left_empty(url: str) -> None:
    """The state of a restore that was killed after it had set aside what it replaces."""
    connection = await asyncpg.connect(url)
    await set_aside(connection)
    await connection.close()


async def test_a_killed_restore_is_reported_and_can_be_undone(tenantry: Tenantry, migrated: dict[str, str]) -> None:
    assert tenantry("create-admin", "root@example.com", **migrated).returncode == 0
    await left_empty(migrated["DATABASE_URL"])
    assert "tenantry restore --undo" in tenantry("check", **migrated).stdout
    for command in (("migrate",), ("serve",)):
        refused = tenantry(*command, **migrated, PORT=str(free_port()))
        assert refused.returncode == 5, refused.stderr
        assert "is kept in the schema tenantry_before_restore" in refused.stderr
    undone = tenantry("restore", "--undo", **migrated)
    assert undone.stdout.startswith("Undone: what was there before the restore is back."), undone.stderr
    assert "root@example.com" in tenantry("users", "list", **migrated).stdout
    assert tenantry("check", **migrated).returncode == 0
    assert tenantry("restore", "--undo", **migrated).returncode != 0


async def test_a_restore_that_was_killed_at_its_end_is_finished(tenantry: Tenantry, migrated: dict[str, str]) -> None:
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    await connection.execute("CREATE SCHEMA tenantry_before_restore")
    await connection.execute("CREATE SCHEMA tenantry_search_before_restore")
    refused = tenantry("serve", **migrated, PORT=str(free_port()))
    assert (refused.returncode, "tenantry restore --finish" in refused.stderr) == (5, True), refused.stderr
    finished = tenantry("restore", "--finish", **migrated)
    assert finished.returncode == 0, finished.stderr
    left = await connection.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'tenantry%before%'")
    await connection.close()
    assert left == 0
    assert tenantry("check", **migrated).returncode == 0
