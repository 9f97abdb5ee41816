"""docs/administration.md: its commands bring back rows of one tenant, export all of one, and erase one."""

import os
import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from adapters.embedded.postgres import postgres_program
from adapters.postgres.backup.programs import fitting_program
from tests.conftest import NewDatabase
from tests.entrypoints.processes import ROOT, Tenantry
from tests.waiting import HUNG_AFTER

PAGE = (ROOT / "docs" / "administration.md").read_text()
TABLES = ("categories", "products", "reviews")
NONE = UUID("01a21a09-f3b0-70df-b81d-c59b54821801")
"""Tenant that the page names."""

_TABLES = """
SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"""
_OF_TENANTS = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace"""


def block(language: str, sign: str) -> str:
    (found,) = (text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if sign in text)
    return str(found)


def run(script: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["/bin/bash", "-c", f"set -euo pipefail\n{script}"],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=False,
    )


@pytest.fixture
async def connection(
    tenantry: Tenantry, migrated: dict[str, str]
) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """The database with the two tenants of the demo."""
    assert tenantry("demo", **migrated).returncode == 0
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    yield connection
    await connection.close()


async def rows_of(connection: "asyncpg.Connection[asyncpg.Record]", tenant: UUID) -> dict[str, int]:
    tables = [name for (name,) in await connection.fetch(_OF_TENANTS)]
    query = "SELECT count(*) FROM {} WHERE tenant_id = $1"
    counted = {table: await connection.fetchval(query.format(table), tenant) for table in tables}
    return {table: count for table, count in counted.items() if count}


async def tenant_named(connection: "asyncpg.Connection[asyncpg.Record]", identifier: str) -> UUID:
    return UUID(str(await connection.fetchval("SELECT id FROM tenants WHERE identifier = $1", identifier)))


async def test_a_deleted_tenant_is_erased_by_an_owner_whom_row_level_security_holds(
    connection: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    first = await tenant_named(connection, "harbour-coffee")
    second = await tenant_named(connection, "ridgeline-outdoor")
    others = await rows_of(connection, second)
    assert others["products"] > 0
    erase = block("sql", "DELETE FROM tenants").replace(str(NONE), str(first))
    role = f"owner_{uuid4().hex}"
    await connection.execute(f"CREATE ROLE {role}")
    try:
        for (table,) in await connection.fetch(_TABLES):
            await connection.execute(f"ALTER TABLE {table} OWNER TO {role}")
        await connection.execute(f"GRANT CREATE, USAGE ON SCHEMA public TO {role}; SET ROLE {role}")
        with pytest.raises(asyncpg.RaiseError, match=f"No deleted tenant has this id: {first}"):
            await connection.execute(erase)
        await connection.execute("UPDATE tenants SET deleted_at = now() WHERE id = $1", first)
        await connection.execute(erase)
        await connection.execute("RESET ROLE")
        assert await rows_of(connection, first) == {}
        assert await rows_of(connection, second) == others
        assert not await connection.fetchval("SELECT count(*) FROM tenants WHERE id = $1", first)
    finally:
        await connection.execute(f"RESET ROLE; REASSIGN OWNED BY {role} TO CURRENT_USER; DROP OWNED BY {role}")
        await connection.execute(f"DROP ROLE {role}")


async def test_rows_of_one_tenant_come_back_from_a_restored_backup(
    tenantry: Tenantry,
    migrated: dict[str, str],
    connection: "asyncpg.Connection[asyncpg.Record]",
    empty_database: NewDatabase,
    tmp_path: Path,
) -> None:
    tenant = await tenant_named(connection, "harbour-coffee")
    other = await tenant_named(connection, "ridgeline-outdoor")
    before = await rows_of(connection, tenant)
    old = {**migrated, "DATABASE_URL": await empty_database(), "REDIS_PREFIX": "old"}
    assert tenantry("backup", "first", **migrated).returncode == 0
    assert tenantry("restore", "first", **old).returncode == 0
    await connection.execute("DELETE FROM reviews; DELETE FROM products; UPDATE categories SET name = name || '!'")
    version = connection.get_server_version().major
    psql = await fitting_program("psql", version, [postgres_program("psql").parent])
    variables = {"OLD": old["DATABASE_URL"], "NOW": migrated["DATABASE_URL"], "TENANT": str(tenant)}
    ran = run(block("bash", "pg_dump"), tmp_path, PATH=f"{psql.parent}{os.pathsep}{os.environ['PATH']}", **variables)
    assert ran.returncode == 0, ran.stderr
    assert await rows_of(connection, tenant) == before
    assert not set(TABLES[1:]) & (await rows_of(connection, other)).keys()
    changed = await connection.fetchval("SELECT count(*) FROM categories WHERE right(name, 1) = '!'")
    assert changed == await connection.fetchval("SELECT count(*) FROM categories")


def test_everything_that_a_tenant_has_becomes_files(
    tenantry: Tenantry, migrated: dict[str, str], connection: object, tmp_path: Path
) -> None:
    named = tenantry("entities", "--json", **migrated).stdout
    shell = block("sh", "mkdir acme")
    chosen = re.findall(r"python3 -c '(.*?)'", shell, re.DOTALL)[0]
    told = subprocess.run(
        ["python3", "-c", chosen], input=named, capture_output=True, text=True, timeout=HUNG_AFTER, check=True
    )
    assert told.stdout.split() == ["audit-events", *TABLES]
    for entity in told.stdout.split():
        out = tenantry("export", entity, "--tenant", "harbour-coffee", "--out", f"{entity}.csv", **migrated)
        assert out.returncode == 0, out.stderr
