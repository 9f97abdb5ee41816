"""docs/administration.md: its commands bring back rows of one tenant, export all of one, and erase one.

docs/entities.md: its blocks are one file that can be served, and show every marker, argument and type.

docs/importing-users.md: the example, and what other systems store, imported as the page says.

docs/operate.md: its commands look into the database of a running service.
"""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import bcrypt
import pytest

import tenantry
from adapters.embedded.postgres import postgres_program
from adapters.postgres.backup.programs import fitting_program
from domain.entities import markers
from domain.entities.declaration import Registry
from domain.entities.kinds import Kind
from domain.scope import SYSTEM_TENANT_ID
from entrypoints.assembly.entities import load_registry
from tests.conftest import NewDatabase
from tests.contracts.passwords.test_foreign_hashes import OF_OTHERS
from tests.documentation.documents import DOCS, chapter, copied
from tests.entrypoints.processes import ROOT, Serve, Tenantry
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


async def test_a_deleted_tenant_is_erased_by_an_owner_under_row_level_security(
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
    assert told.stdout.split() == ["audit-events", "members", *TABLES]
    for entity in told.stdout.split():
        out = tenantry("export", entity, "--tenant", "harbour-coffee", "--out", f"{entity}.csv", **migrated)
        assert out.returncode == 0, out.stderr


_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SOURCE = "\n\n".join(_PYTHON.findall((ROOT / "docs" / "entities.md").read_text()))
MARKERS: tuple[Callable[..., Any], ...] = (
    markers.entity,
    markers.ref,
    markers.money,
    markers.guarded,
    markers.unique,
    markers.many,
    markers.member,
    markers.mine,
    markers.index,
    markers.label,
    markers.help_text,
    markers.widget,
)


@pytest.fixture
def shop(tmp_path: Path) -> Registry:
    file = tmp_path / "shop.py"
    file.write_text(SOURCE)
    return load_registry([str(file)])


@pytest.mark.promise(
    "declarations, documentation: docs/entities.md shows every argument, type, marker and word for deletions, and is a "
    "file that can be served"
)
def test_the_page_is_a_file_that_can_be_served(shop: Registry) -> None:
    assert len(shop.models) == 13
    assert shop.oddities == ()


@pytest.mark.promise(
    "declarations, documentation: docs/entities.md shows every argument, type, marker and word for deletions, and is a "
    "file that can be served"
)
def test_every_type_is_shown(shop: Registry) -> None:
    assert {field.kind for field in shop["samples"].declared} | {Kind.LINKS} == set(Kind)


@pytest.mark.promise(
    "declarations, documentation: docs/entities.md shows every argument, type, marker and word for deletions, and is a "
    "file that can be served"
)
def test_every_word_for_deletions_is_shown(shop: Registry) -> None:
    shown = {relation.on_delete for model in shop for relation in model.relations.values()}
    assert shown == {"restrict", "cascade", "clear"}


@pytest.mark.promise(
    "declarations, documentation: docs/entities.md shows every argument, type, marker and word for deletions, and is a "
    "file that can be served"
)
def test_every_marker_with_every_argument_is_shown() -> None:
    calls = [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.Call)]
    for marker in MARKERS:
        own = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == marker.__name__]
        assert own, f"docs/entities.md does not show {marker.__name__}()"
        given = {keyword.arg for call in own for keyword in call.keywords}
        positional = max(len(call.args) for call in own)
        missing = [name for name in list(inspect.signature(marker).parameters)[positional:] if name not in given]
        assert [name for name in missing if name != "fields"] == [], f"arguments of {marker.__name__}()"
    exported = {name for name in tenantry.__all__ if hasattr(markers, name)}
    assert exported == {marker.__name__ for marker in MARKERS} | {"big", "links", "through"}


PAGE_OF_IMPORTING_USERS_PAGE = (DOCS / "importing-users.md").read_text()
KNOWN = bcrypt.hashpw(b"a password", bcrypt.gensalt(4)).decode()
OTHER_SYSTEMS = {
    "From Supabase": f"""
        CREATE SCHEMA auth;
        CREATE TABLE auth.users (email text, encrypted_password text, email_confirmed_at timestamptz,
            raw_user_meta_data jsonb, deleted_at timestamptz);
        INSERT INTO auth.users VALUES
            ('ada@acme.example', '{KNOWN}', now(), '{{"full_name": "Ada"}}', NULL),
            ('bob@acme.example', '', NULL, '{{}}', NULL),
            (NULL, '', NULL, '{{}}', NULL),
            ('gone@acme.example', '{KNOWN}', now(), '{{}}', now());""",
    "From Django": f"""
        CREATE TABLE auth_user (email text, first_name text, last_name text, password text, is_active boolean);
        INSERT INTO auth_user VALUES
            ('ada@acme.example', 'Ada', '', '{OF_OTHERS["Django's pbkdf2"]}', true),
            ('bob@acme.example', '', '', '!unusable', true),
            ('', 'Nobody', '', '!', false);""",
}


def block_of_importing_users_page(section: str, language: str) -> str:
    return str(
        re.findall(
            rf"```{language}\n(.*?)```", PAGE_OF_IMPORTING_USERS_PAGE.partition(f"## {section}\n")[2], re.DOTALL
        )[0]
    )


def test_the_example_says_what_the_page_shows(tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path) -> None:
    write, create, run = re.findall(r"```sh\n(.*?)```", PAGE_OF_IMPORTING_USERS_PAGE, re.DOTALL)[0].splitlines()
    subprocess.run(["sh", "-c", write], cwd=tmp_path, check=True)
    assert tenantry(*create.split()[1:], **migrated).returncode == 0
    ended = tenantry(*run.split()[1:], **migrated)
    assert re.findall(r"```text\n(.*?)```", PAGE_OF_IMPORTING_USERS_PAGE, re.DOTALL)[0].strip() in ended.stderr


@pytest.mark.parametrize("section", OTHER_SYSTEMS)
async def test_users_of_another_database_are_imported(
    section: str, tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    query = re.findall(
        r"\\copy \((.*)\) TO 'people.csv' WITH \(FORMAT csv, HEADER\)\n", block_of_importing_users_page(section, "sql")
    )[0]
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    await connection.execute(OTHER_SYSTEMS[section])
    await connection.copy_from_query(query, output=tmp_path / "people.csv", format="csv", header=True)
    await connection.close()
    ended = tenantry("users", "import", str(tmp_path / "people.csv"), **migrated)
    assert "2 rows: 2 users made" in ended.stdout, ended.stderr
    listed = json.loads(tenantry("users", "list", "--json", **migrated).stdout)
    assert {user["email"] for user in listed} >= {"ada@acme.example", "bob@acme.example"}


def test_users_of_keycloak_are_imported(tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path) -> None:
    stored = json.loads(OF_OTHERS["Keycloak's pbkdf2"])
    users = [
        {"email": "ada@acme.example", "firstName": "Ada", "emailVerified": True, "credentials": [stored]},
        {"email": "bob@acme.example", "enabled": False, "credentials": [{"type": "otp"}]},
        {"username": "robot"},
    ]
    script = copied("importing-users.md", "from_keycloak.py", tmp_path)
    made = subprocess.run(
        [sys.executable, script], input=json.dumps({"users": users}), capture_output=True, text=True, check=True
    )
    (tmp_path / "people.jsonl").write_text(made.stdout)
    ended = tenantry("users", "import", str(tmp_path / "people.jsonl"), **migrated)
    assert "2 rows: 2 users made" in ended.stdout, ended.stderr


PAGE_OF_EMBEDDED_DATABASE_PAGE = chapter("operate.md", "The embedded database")


def test_the_page_s_commands_show_users_and_the_rows_of_one_tenant(serve: Serve, tmp_path: Path) -> None:
    serve()
    shell, sql = (
        re.findall(rf"```{language}\n(.*?)```", PAGE_OF_EMBEDDED_DATABASE_PAGE, re.DOTALL)[0]
        for language in ("sh", "sql")
    )
    (tmp_path / "look.sql").write_text(sql)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    script = shell.replace('pathlib.Path(".venv").rglob(', 'pathlib.Path(".venv/lib").rglob(')
    script += '"$PSQL" "$URL" -v ON_ERROR_STOP=1 -f look.sql\n'
    ran = subprocess.run(
        ["/bin/bash", "-c", f"set -euo pipefail\n{script}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "admin@example.com | t" in ran.stdout
    assert "(1 row)" in ran.stdout
    assert str(SYSTEM_TENANT_ID) in ran.stdout  # the tenant that the page names is one
