"""Roles of a whole server: a database that was copied to another one, and owners that may not make or grant them.

Commands on Redis clusters and on masters that sentinels name: addresses that fit, and those that do not.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import pytest

from adapters.embedded.postgres import postgres_program
from tests.entrypoints.processes import Tenantry
from tests.servers.postgres_servers import PostgresServer
from tests.servers.redis_servers import RedisServer, ask, open_cluster, open_sentinels
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
    return copied_to(server.url, migrated)


def copied_to(url: str, migrated: dict[str, str]) -> dict[str, str]:
    told = [str(postgres_program("pg_dump")), "--no-owner", migrated["DATABASE_URL"]]
    dumped = subprocess.run(told, check=True, capture_output=True, timeout=HUNG_AFTER)
    # statements that name the roles fail, and the others are run
    command = [str(postgres_program("psql")), "-q", "-o", os.devnull, url]
    subprocess.run(command, input=dumped.stdout, check=True, capture_output=True, timeout=HUNG_AFTER)
    return {**migrated, "DATABASE_URL": url}


async def test_a_copied_database_gets_its_roles_and_rights_again(tenantry: Tenantry, copied: dict[str, str]) -> None:
    listed = tenantry("users", "list", **copied)
    assert listed.returncode == 5
    assert "The server does not have the role tenantry_service" in listed.stderr
    pending = tenantry("migrate", "--check", **copied)
    assert (pending.returncode, "The server does not have the role tenantry_service: run" in pending.stderr) == (
        5,
        True,
    )
    for command, code in ((("check",), 1), (("doctor",), 1), (("migrations", "check"), 5)):
        ended = tenantry(*command, **copied)
        told = ended.stdout + ended.stderr
        assert ended.returncode == code
        assert (
            "The server does not have the role tenantry_service. As the owner of the tables, run: CREATE ROLE" in told
        )
        assert "The server does not have the role tenantry_search." in told
    mended = tenantry("migrate", **copied)
    assert mended.returncode == 0, mended.stderr
    assert "Mended: The server does not have the role tenantry_service.\n" in mended.stdout
    assert tenantry("migrations", "check", **copied).returncode == 0
    assert tenantry("users", "list", **copied).returncode == 0
    assert tenantry("migrate", **copied).stdout == "The database is up to date.\n"
    assert tenantry("migrate", "--check", **copied).returncode == 0


async def test_a_role_created_by_hand_lacks_rights_until_migrate_grants_them(
    tenantry: Tenantry, copied: dict[str, str], server: PostgresServer
) -> None:
    await server.run("CREATE ROLE tenantry_service NOLOGIN")
    listed = tenantry("users", "list", **copied)
    assert listed.returncode == 5
    assert "permission denied for" in listed.stderr
    assert "Run `tenantry migrate`, which grants what is missing" in listed.stderr
    pending = tenantry("migrate", "--check", **copied)
    assert (pending.returncode, "The role tenantry_service lacks rights on " in pending.stderr) == (5, True)
    assert "Traceback" not in listed.stderr
    assert tenantry("migrate", **copied).returncode == 0
    assert tenantry("users", "list", **copied).returncode == 0


async def test_a_grant_that_only_a_superuser_may_make_is_requested_from_one(
    tenantry: Tenantry, migrated: dict[str, str], server: PostgresServer
) -> None:
    """Roles that somebody else has made, on a server from PostgreSQL 16 on."""
    for statement in (
        "CREATE ROLE second LOGIN CREATEROLE",
        "CREATE DATABASE second OWNER second",
        "CREATE ROLE tenantry_service NOLOGIN",
        "CREATE ROLE tenantry_search NOLOGIN",
    ):
        await server.run(statement)
    copied = copied_to(server.url_of("second", user="second"), migrated)
    for grant, code in (
        ("GRANT tenantry_service TO second WITH ADMIN OPTION", 4),
        ("GRANT tenantry_search TO second", 5),
    ):
        checked, refused = tenantry("migrations", "check", **copied), tenantry("migrate", **copied)
        assert (checked.returncode, refused.returncode) == (5, code)
        assert f" As a superuser, run: {grant};" in checked.stderr
        assert f"superuser run: {grant}" in refused.stderr.replace(",", "")
        await server.run(grant)
    assert "superuser" not in tenantry("migrations", "check", **copied).stderr
    assert tenantry("migrate", **copied).returncode == 0
    assert tenantry("migrations", "check", **copied).returncode == 0


async def test_check_reports_changed_tables_and_missing_row_level_security(
    tenantry: Tenantry, migrated: dict[str, str]
) -> None:
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    await connection.execute(
        "ALTER TABLE products DISABLE ROW LEVEL SECURITY; DROP TABLE outbox;"
        "ALTER TABLE users DROP COLUMN full_name CASCADE"  # the view members shows it
    )
    await connection.close()
    checked = tenantry("check", **migrated)
    assert checked.returncode == 1
    told = " ".join(checked.stdout.split())
    assert "Row-level security of products is off" in told
    assert "The table outbox is missing." in told
    assert "The table users lacks the column full_name." in told
    assert "up to date" not in told


async def of_owner(server: PostgresServer, shared: dict[str, str], name: str, *, owned: bool) -> dict[str, str]:
    """Settings of a new database with an owner of its own, who may make roles."""
    await server.run(f"CREATE ROLE {name} LOGIN CREATEROLE")
    await server.run(f"CREATE DATABASE {name} OWNER {name}")
    owner, login = server.url_of(name, user=name), server.url_of(name, user=f"{name}_login")
    return (
        {**shared, "DATABASE_URL": login, "DATABASE_OWNER_URL": owner} if owned else {**shared, "DATABASE_URL": owner}
    )


async def test_an_owner_who_may_not_grant_the_role_gets_the_statement(
    tenantry: Tenantry, shared: dict[str, str], server: PostgresServer
) -> None:
    """Since PostgreSQL 16 who makes a role may grant it, and another CREATEROLE may not."""
    first = await of_owner(server, shared, "first", owned=True)
    assert tenantry("migrate", **first).returncode == 0
    second = await of_owner(server, shared, "second", owned=True)
    for command in ("migrate", "serve"):
        refused = tenantry(command, **second)
        assert refused.returncode == 4, refused.stderr
        assert (
            "The role second of TENANTRY_DATABASE_OWNER_URL may not let second_login, the role of"
            " TENANTRY_DATABASE_URL, take on the role tenantry_service (permission denied to grant role"
        ) in " ".join(refused.stderr.split())
        assert "GRANT tenantry_service TO second WITH ADMIN OPTION" in refused.stderr
    await server.run("GRANT tenantry_service TO second WITH ADMIN OPTION")
    migrated = tenantry("migrate", **second)
    assert migrated.returncode == 0, migrated.stderr
    checked = tenantry("migrations", "check", **second)
    assert checked.returncode == 0, checked.stderr
    # the first owner has made the role of searches as well, without which there are only slower searches
    assert "Let a superuser run: GRANT tenantry_search TO second." in tenantry("migrate", "--check", **second).stdout


async def test_an_owner_who_may_not_assume_the_role_gets_the_statement(
    tenantry: Tenantry, shared: dict[str, str], server: PostgresServer
) -> None:
    await server.run("CREATE ROLE tenantry_service NOLOGIN")
    owner = await of_owner(server, shared, "alone", owned=False)
    refused = tenantry("migrate", **owner)
    assert refused.returncode == 5, refused.stderr
    assert "HINT: Let a superuser run: GRANT tenantry_service TO alone WITH ADMIN OPTION. Then run:" in refused.stderr
    await server.run("GRANT tenantry_service TO alone")
    assert tenantry("migrate", **owner).returncode == 0


async def test_an_owner_who_may_not_create_roles_gets_the_statement(
    tenantry: Tenantry, shared: dict[str, str], server: PostgresServer
) -> None:
    owner = await of_owner(server, shared, "plain", owned=True)
    await server.run("ALTER ROLE plain NOCREATEROLE")
    refused = tenantry("migrate", **owner)
    assert refused.returncode == 4, refused.stderr
    assert "The role plain of TENANTRY_DATABASE_OWNER_URL may not make roles (permission denied" in refused.stderr
    assert "Let a superuser run: ALTER ROLE plain CREATEROLE\n" in refused.stderr


async def test_a_redis_cluster_is_checked_and_wrong_addresses_are_reported(
    tenantry: Tenantry, shared: dict[str, str], tmp_path: Path
) -> None:
    lone = RedisServer(tmp_path)
    async with open_cluster(tmp_path) as cluster, AsyncExitStack() as stack:
        stack.callback(lone.kill)
        assert tenantry("migrate", **shared).returncode == 0
        checked = tenantry("check", **{**shared, "REDIS_URL": cluster.url})
        assert (checked.returncode, "redis:     answers" in checked.stdout) == (0, True), checked.stdout
        await ask(cluster.masters[1], "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        assert (
            "CONFIG SET maxmemory-policy noeviction"
            in tenantry("doctor", **{**shared, "REDIS_URL": cluster.url}).stdout
        )
        node = f"redis://127.0.0.1:{cluster.masters[0].port}"
        lone.start()
        single = f"redis+cluster://127.0.0.1:{lone.port}"
        for url, said in ((node, "names a node of a cluster"), (single, "127.0.0.1 is in none")):
            told = tenantry("check", **{**shared, "REDIS_URL": url})
            assert (told.returncode, said in told.stdout, "Traceback" in told.stderr) == (1, True, False), told.stdout


async def test_a_master_is_found_by_its_name(tenantry: Tenantry, shared: dict[str, str], tmp_path: Path) -> None:
    async with open_sentinels(tmp_path) as watched:
        assert tenantry("migrate", **shared).returncode == 0
        checked = tenantry("check", **{**shared, "REDIS_URL": watched.url})
        assert (checked.returncode, "redis:     answers" in checked.stdout) == (0, True), checked.stdout
        wrong = watched.url.replace("/main/", "/mein/")
        told = tenantry("check", **{**shared, "REDIS_URL": wrong})
        assert told.returncode == 1
        assert "watch no master called mein; there are: main." in told.stdout
        number = watched.url.replace("/3", "/99")
        assert "Redis has no database 99" in tenantry("check", **{**shared, "REDIS_URL": number}).stdout


@pytest.mark.parametrize("url", ["redis+sentinel://127.0.0.1:1/main", "redis+cluster://127.0.0.1:1"])
def test_an_unreachable_redis_group_is_reported(tenantry: Tenantry, shared: dict[str, str], url: str) -> None:
    assert tenantry("migrate", **shared).returncode == 0
    checked = tenantry("check", **{**shared, "REDIS_URL": url})
    assert (checked.returncode, "Redis does not answer" in checked.stdout) == (1, True), checked.stdout
