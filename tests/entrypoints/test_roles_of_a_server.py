"""Roles of a whole server: a database that was copied to another one, and owners that may not make or grant them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from adapters.embedded.postgres import postgres_program
from tests.entrypoints.processes import Tenantry
from tests.postgres_server import PostgresServer
from tests.waiting import HUNG_AFTER

pytestmark = pytest.mark.end_to_end  # it starts servers


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    made = PostgresServer(tmp_path / "server", "alone").make().start()
    yield made
    made.stop()


@pytest.fixture
def copied(migrated: dict[str, str], server: PostgresServer) -> dict[str, str]:
    """Settings of a database whose tables are there, and whose roles stayed on the server that it comes from."""
    told = [str(postgres_program("pg_dump")), "--no-owner", migrated["DATABASE_URL"]]
    dumped = subprocess.run(told, check=True, capture_output=True, timeout=HUNG_AFTER)
    # statements that name the roles fail, and the others are run
    command = [str(postgres_program("psql")), "-q", "-o", os.devnull, server.url]
    subprocess.run(command, input=dumped.stdout, check=True, capture_output=True, timeout=HUNG_AFTER)
    return {**migrated, "DATABASE_URL": server.url}


async def test_a_copied_database_gets_its_roles_and_rights_again(tenantry: Tenantry, copied: dict[str, str]) -> None:
    listed = tenantry("users", "list", **copied)
    assert listed.returncode == 5
    assert "The server has no role tenantry_service" in listed.stderr
    for command, code in ((("check",), 1), (("doctor",), 1), (("migrations", "check"), 5)):
        ended = tenantry(*command, **copied)
        told = ended.stdout + ended.stderr
        assert ended.returncode == code
        assert "The server has no role tenantry_service. As the owner of the tables, run: CREATE ROLE" in told
        assert "The server has no role tenantry_search." in told
    mended = tenantry("migrate", **copied)
    assert mended.returncode == 0, mended.stderr
    assert "Mended: The server has no role tenantry_service.\n" in mended.stdout
    assert tenantry("migrations", "check", **copied).returncode == 0
    assert tenantry("users", "list", **copied).returncode == 0
    assert tenantry("migrate", **copied).stdout == "The database is up to date.\n"


async def test_a_role_that_was_made_by_hand_has_no_rights_yet(
    tenantry: Tenantry, copied: dict[str, str], server: PostgresServer
) -> None:
    await server.run("CREATE ROLE tenantry_service NOLOGIN")
    listed = tenantry("users", "list", **copied)
    assert listed.returncode == 5
    assert "permission denied for" in listed.stderr
    assert "Run `tenantry migrate`, which grants what is missing" in listed.stderr
    assert "Traceback" not in listed.stderr
    assert tenantry("migrate", **copied).returncode == 0
    assert tenantry("users", "list", **copied).returncode == 0


async def test_check_tells_tables_and_security_that_somebody_changed(
    tenantry: Tenantry, migrated: dict[str, str]
) -> None:
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    await connection.execute(
        "ALTER TABLE products DISABLE ROW LEVEL SECURITY; DROP TABLE outbox; ALTER TABLE users DROP COLUMN full_name"
    )
    await connection.close()
    checked = tenantry("check", **migrated)
    assert checked.returncode == 1
    told = " ".join(checked.stdout.split())
    assert "Row-level security of products is off" in told
    assert "The table outbox is missing." in told
    assert "The table users lacks the column full_name." in told
    assert "up to date" not in told
