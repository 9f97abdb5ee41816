"""``tenantry backup`` and ``tenantry restore``: what comes back is what was there, and a failure changes nothing."""

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest

from adapters.postgres.backup.dumps import without_password
from adapters.postgres.backup.programs import NoProgram, fitting_program
from adapters.redis.client import redis_client
from adapters.redis.forgetting import forget_everything
from tests.conftest import NewDatabase
from tests.entrypoints.conftest import settings_of
from tests.entrypoints.processes import PASSWORD, ROOT, Serve, Tenantry
from tests.servers.databases import renamed
from tests.waiting import HUNG_AFTER


async def content_of(url: str) -> dict[str, str]:
    """Hash of the rows of every table but the epoch of the log, which each restore replaces."""
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch("SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'public'")
        query = "SELECT coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '') FROM {} t"
        names = {name for (name,) in tables} - {"service_epoch"}
        return {name: await connection.fetchval(query.format(f'"{name}"')) for name in names}
    finally:
        await connection.close()


async def policies_of(url: str) -> list[Any]:
    connection = await asyncpg.connect(url)
    try:
        return (
            await connection.fetch("SELECT tablename, policyname, qual, with_check FROM pg_policies ORDER BY 1, 2")
            + await connection.fetch(
                "SELECT oid::regprocedure::text, proowner::regrole::text, prosecdef, proacl::text FROM pg_proc"
                " WHERE pronamespace = to_regnamespace('tenantry_search') ORDER BY 1"
            )
            + await connection.fetch(
                "SELECT relname, relrowsecurity, relforcerowsecurity,"
                " coalesce(relacl, acldefault('r', relowner))::text FROM pg_class"
                " WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1"
            )
        )
    finally:
        await connection.close()


async def further_objects_of(url: str) -> list[str]:
    """Routines and extended statistics of ``public`` that are no part of an extension."""
    connection = await asyncpg.connect(url)
    try:
        found = await connection.fetch(
            "SELECT p.oid::regprocedure::text AS name FROM pg_proc p WHERE pronamespace = 'public'::regnamespace"
            " AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
            " UNION ALL SELECT stxname FROM pg_statistic_ext WHERE stxnamespace = 'public'::regnamespace ORDER BY 1"
        )
        return [row["name"] for row in found]
    finally:
        await connection.close()


async def test_a_backup_comes_back_into_an_empty_database(
    tenantry: Tenantry, migrated: dict[str, str], empty_database: NewDatabase, tmp_path: Path
) -> None:
    assert tenantry("demo", **migrated).returncode == 0
    before = await content_of(migrated["DATABASE_URL"])
    made = tenantry("backup", "first", **migrated)
    assert (made.returncode, made.stderr) == (0, "")
    assert "TENANTRY_SECRET_KEY is not in it" in made.stdout
    assert migrated["SECRET_KEY"] not in (tmp_path / "first" / "backup.json").read_text()
    assert (tmp_path / "first").stat().st_mode & 0o077 == 0

    other = {**migrated, "DATABASE_URL": await empty_database()}
    restored = tenantry("restore", "first", **other)
    assert restored.returncode == 0, restored.stderr
    assert await content_of(other["DATABASE_URL"]) == before
    assert await policies_of(other["DATABASE_URL"]) == await policies_of(migrated["DATABASE_URL"])
    assert tenantry("migrate", "--check", **other).returncode == 0
    assert tenantry("migrations", "check", **other).returncode == 0


def test_a_database_without_tables_is_not_backed_up(tenantry: Tenantry, shared: dict[str, str], tmp_path: Path) -> None:
    refused = tenantry("backup", "first", **shared)
    assert refused.returncode == 5
    assert refused.stderr == (
        "The database has no tables of Tenantry, and nothing was written: name another one by TENANTRY_DATABASE_URL or"
        " TENANTRY_DATA_DIR, or run `tenantry migrate` first.\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
async def test_restoring_over_content_needs_replace_and_a_stopped_service(
    serve: Serve, tenantry: Tenantry, migrated: dict[str, str]
) -> None:
    before, policies = await content_of(migrated["DATABASE_URL"]), await policies_of(migrated["DATABASE_URL"])
    assert tenantry("backup", "first", **migrated).returncode == 0
    served = serve(**migrated)
    token = served.log_in(PASSWORD)
    assert "backup" in [job["job"] for job in served.call("GET", "/api/system", None, token).body["data"]["jobs"]]
    assert served.call("POST", "/api/tenants", {"name": "Acme", "identifier": "acme"}, token).status == 201
    under_way = tenantry("restore", "first", "--replace", **migrated)
    assert (under_way.returncode, "stop it first" in under_way.stderr) == (3, True)
    served.process.terminate()
    served.process.wait(HUNG_AFTER)

    changed = await content_of(migrated["DATABASE_URL"])
    refused = tenantry("restore", "first", **migrated)
    assert (refused.returncode, "--replace" in refused.stderr) == (3, True)
    assert await content_of(migrated["DATABASE_URL"]) == changed != before
    again = tenantry("backup", "first", **migrated)
    assert (again.returncode, "is there already" in again.stderr) == (2, True)

    replaced = tenantry("restore", "first", "--replace", **migrated)
    assert replaced.returncode == 0, replaced.stderr
    assert await content_of(migrated["DATABASE_URL"]) == before
    assert await policies_of(migrated["DATABASE_URL"]) == policies
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    aside = "SELECT array_agg(nspname) FROM pg_namespace WHERE nspname LIKE '%before_restore'"
    assert await connection.fetchval(aside) is None
    await connection.close()


def test_a_backup_of_a_newer_server_is_refused_with_both_versions(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    assert tenantry("backup", "first", **migrated).returncode == 0
    description = tmp_path / "first" / "backup.json"
    told = json.loads(description.read_text())
    description.write_text(json.dumps({**told, "postgres": told["postgres"] + 10}))
    refused = tenantry("restore", "first", "--replace", **migrated)
    assert refused.returncode == 2
    assert (
        f"was made of PostgreSQL {told['postgres'] + 10}, and the server is PostgreSQL {told['postgres']}"
        in refused.stderr
    )


@pytest.mark.long
async def test_a_failed_restore_preserves_the_existing_content(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    assert tenantry("backup", "first", **migrated).returncode == 0
    before, policies = await content_of(migrated["DATABASE_URL"]), await policies_of(migrated["DATABASE_URL"])
    dump, description = tmp_path / "first" / "database.dump", tmp_path / "first" / "backup.json"
    whole = dump.read_bytes()
    dump.write_bytes(whole[: len(whole) // 2])
    cut_off = tenantry("restore", "first", "--replace", **migrated)
    assert (cut_off.returncode, "was changed or is cut off" in cut_off.stderr) == (2, True)

    # with a description that fits, the program itself finds it, in the middle of its work
    told = json.loads(description.read_text()) | {"sha256": hashlib.sha256(dump.read_bytes()).hexdigest()}
    description.write_text(json.dumps(told))
    failed = tenantry("restore", "first", "--replace", **migrated)
    assert (failed.returncode, "nothing was changed" in failed.stderr) == (4, True)
    assert await content_of(migrated["DATABASE_URL"]) == before
    assert await policies_of(migrated["DATABASE_URL"]) == policies
    assert tenantry("migrations", "check", **migrated).returncode == 0


@pytest.mark.long
async def test_a_restore_reports_unknown_migrations_and_another_secret_key(
    tenantry: Tenantry, migrated: dict[str, str], empty_database: NewDatabase, tmp_path: Path
) -> None:
    assert tenantry("backup", "first", **migrated).returncode == 0
    other = {**migrated, "DATABASE_URL": await empty_database(), "SECRET_KEY": "8sW5pJ1cV6nR3yL0hD4uQ9-xT7_bZ2mK"}
    restored = tenantry("restore", "first", **other)
    assert (restored.returncode, "is not that of the backup" in restored.stdout) == (0, True)
    description = tmp_path / "first" / "backup.json"
    description.write_text(json.dumps(json.loads(description.read_text()) | {"revisions": ["9999"]}))
    newer = tenantry("restore", "first", "--replace", **migrated)
    assert (newer.returncode, "9999" in newer.stderr) == (5, True)
    description.unlink()
    assert tenantry("restore", "first", "--replace", **migrated).returncode == 2


@pytest.fixture
async def plain(servers: tuple[str, str], empty_database: NewDatabase) -> AsyncIterator[list[dict[str, str]]]:
    """Settings of two empty databases, whose owner has no rights beside them."""
    superuser, name = servers[0], f"tenantry_test_owner_{uuid4().hex[:8]}"
    urls = [await empty_database() for _ in range(2)]
    connection = await asyncpg.connect(superuser)
    try:
        await connection.execute(f"CREATE ROLE {name} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD 'secret'")
        await connection.execute(
            "DO $$ BEGIN CREATE ROLE tenantry_service NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        await connection.execute(f"GRANT tenantry_service TO {name}")
        for url in urls:
            await connection.execute(f"ALTER DATABASE {urlsplit(url).path[1:]} OWNER TO {name}")
        yield [settings_of(as_role(url, name, "secret"), servers[1]) for url in urls]
    finally:
        for url in urls:
            await connection.execute(f"DROP DATABASE {urlsplit(url).path[1:]} WITH (FORCE)")
        await connection.execute(f"DROP ROLE IF EXISTS {name}")
        await connection.close()


def superusers(settings: Mapping[str, str], servers: tuple[str, str]) -> str:
    """URL by which the content of a database is seen whole."""
    return renamed(servers[0], urlsplit(settings["DATABASE_URL"]).path[1:])


@pytest.mark.long
async def test_a_plain_owner_dumps_and_restores_every_row(
    tenantry: Tenantry, plain: list[dict[str, str]], servers: tuple[str, str]
) -> None:
    assert tenantry("migrate", **plain[0]).returncode == 0
    assert tenantry("demo", **plain[0]).returncode == 0
    assert tenantry("backup", "first", **plain[0]).returncode == 0
    restored = tenantry("restore", "first", **plain[1])
    assert restored.returncode == 0, restored.stderr
    before = await content_of(superusers(plain[0], servers))
    assert await content_of(superusers(plain[1], servers)) == before
    assert len([text for text in before.values() if text]) > 10


@pytest.mark.long
async def test_a_restore_by_a_plain_owner_replaces_everything_or_nothing(
    tenantry: Tenantry, plain: list[dict[str, str]], servers: tuple[str, str], tmp_path: Path
) -> None:
    """Beside extensions, whose functions belong to a superuser, with routines and statistics of tables."""
    settings, url = plain[0], superusers(plain[0], servers)
    assert tenantry("migrate", **settings).returncode == 0
    assert tenantry("clean", **settings).returncode == 0
    connection = await asyncpg.connect(settings["DATABASE_URL"])
    await connection.execute("CREATE FUNCTION called(products) RETURNS text LANGUAGE sql AS 'SELECT $1.name'")
    await connection.close()
    further = await further_objects_of(url)
    assert {"called(products)", "st_products__category_id"} <= set(further)
    assert tenantry("backup", "first", **settings).returncode == 0
    before, policies = await content_of(url), await policies_of(url)
    assert tenantry("tenants", "create", "later", "--name", "Later", **settings).returncode == 0
    replaced = tenantry("restore", "first", "--replace", **settings)
    assert replaced.returncode == 0, replaced.stderr
    assert (await content_of(url), await policies_of(url)) == (before, policies)
    assert await further_objects_of(url) == further

    dump, description = tmp_path / "first" / "database.dump", tmp_path / "first" / "backup.json"
    dump.write_bytes(dump.read_bytes()[:-20_000])
    told = json.loads(description.read_text()) | {"sha256": hashlib.sha256(dump.read_bytes()).hexdigest()}
    description.write_text(json.dumps(told))
    failed = tenantry("restore", "first", "--replace", **settings)
    assert (failed.returncode, "nothing was changed" in failed.stderr) == (4, True), failed.stderr
    assert (await content_of(url), await policies_of(url)) == (before, policies)
    assert await further_objects_of(url) == further
    assert tenantry("migrations", "check", **settings).returncode == 0


def as_role(url: str, name: str, password: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{name}:{password}@{parts.netloc.rpartition('@')[2]}").geturl()


@pytest.mark.long
def test_the_embedded_database_is_backed_up_by_its_own_programs(tenantry: Tenantry) -> None:
    def tenants() -> str:
        return tenantry("tenants", "list", "--json").stdout

    assert tenantry("migrate").returncode == 0
    assert tenantry("tenants", "create", "acme", "--name", "Acme").returncode == 0
    before = tenants()
    made = tenantry("backup", "backups/first")
    assert made.returncode == 0, made.stderr
    assert tenantry("tenants", "create", "other", "--name", "Other").returncode == 0
    assert tenants() != before
    restored = tenantry("restore", "backups/first", "--replace")
    assert restored.returncode == 0, restored.stderr
    assert tenants() == before
    # servers that know neither the roles nor the extensions
    fresh = {"DATA_DIR": "fresh"}
    restored = tenantry("restore", "backups/first", **fresh)
    assert restored.returncode == 0, restored.stderr
    assert tenantry("tenants", "list", "--json", **fresh).stdout == before


@asynccontextmanager
async def keys_of_two_services(url: str) -> AsyncIterator[str]:
    """Prefix of one of them, whose keys alone are to be gone at the end."""
    prefix = f"t{uuid4().hex}"
    limit = "limit:login:email:o'neil@acme.example"
    own = [f"{{{prefix}}}:lease", f"{{{prefix}}}:{limit}", f"{{{prefix}:user:1}}:limit:x", f"{prefix}:cache:x"]
    foreign = [f"{prefix}2:cache:x", f"{{{prefix}2}}:lease", f"{{{prefix}2:user:1}}:limit:x"]
    async with redis_client(url) as client:
        for key in (*own, *foreign):
            await client.set(key, "x", ex=60)
        yield prefix
        assert [key for key in (*own, *foreign) if await client.exists(key)] == foreign


async def test_forgetting_redis_keys_deletes_only_keys_of_this_service(servers: tuple[str, str]) -> None:
    async with keys_of_two_services(servers[1]) as prefix:
        assert await forget_everything(servers[1], prefix)
    assert not await forget_everything("redis://127.0.0.1:1", prefix)


@pytest.mark.skipif(shutil.which("redis-cli") is None, reason="redis-cli is not installed")
async def test_so_does_the_page_s_command(servers: tuple[str, str], tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operate.md").read_text()
    (command,) = (block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "redis-cli" in block)
    command = command.replace("\n   ", "\n")
    async with keys_of_two_services(servers[1]) as prefix:
        addressed = command.replace("tenantry", prefix).replace("redis-cli ", f"redis-cli {server_of(servers[1])} ")
        run_by_shell(addressed)


def server_of(url: str) -> str:
    """Arguments of redis-cli, which knows no URL of a socket."""
    parts = urlsplit(url)
    return f"-s {parts.path} -a {parts.password}" if parts.scheme == "unix" else f"-u {url}"


def run_by_shell(command: str) -> None:
    subprocess.run(["sh", "-e", "-c", command], check=True, capture_output=True, timeout=HUNG_AFTER)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://ada:s%40cret@db/x", ("postgresql://ada@db/x", "s@cret")),
        ("postgresql://ada@/x?host=/run&password=secret", ("postgresql://ada@/x?host=/run", "secret")),
        ("postgresql:///x", ("postgresql:///x", "")),
    ],
)
def test_a_command_line_shows_no_password(url: str, expected: tuple[str, str]) -> None:
    assert without_password(url) == expected


async def test_the_program_that_fits_is_the_nearest_that_is_not_older(tmp_path: Path) -> None:
    for major in (80, 95, 90):
        (tmp_path / str(major)).mkdir()
        program = tmp_path / str(major) / "pg_dump"
        program.write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {major}.1'\n")
        program.chmod(0o755)
    folders = [tmp_path / name for name in ("80", "95", "90", "none")]
    assert await fitting_program("pg_dump", 85, folders) == tmp_path / "90" / "pg_dump"
    with pytest.raises(NoProgram, match="postgresql-client-99"):
        await fitting_program("pg_dump", 99, folders)
