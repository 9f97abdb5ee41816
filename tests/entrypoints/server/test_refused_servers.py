"""Servers that answer and refuse what the settings name: the start stops with a sentence, not with a traceback."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest
from redis import Redis

from adapters.embedded import start_embedded
from tests.entrypoints.processes import Tenantry
from tests.servers.databases import renamed
from tests.servers.redis_servers import RedisServer

COMMANDS = (("serve", 2), ("migrate", 2), ("check", 1))
"""Commands that a database stops, and their exit codes: `check` reports mistakes, and says by 1 that there are any."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL that asks for a password, which the tests' own server does not."""
    embedded = start_embedded(tmp_path_factory.mktemp("guarded"), postgres=True, valkey=False, durable=False)
    yield str(embedded.owner_url)
    embedded.stop()


@pytest.fixture
async def barred(servers: tuple[str, str]) -> AsyncIterator[str]:
    """A role that may not log in."""
    name = f"tenantry_barred_{uuid4().hex[:12]}"
    connection = await asyncpg.connect(servers[0])
    await connection.execute(f'CREATE ROLE "{name}" NOLOGIN')
    yield name
    await connection.execute(f'DROP ROLE "{name}"')
    await connection.close()


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path, "--databases", "4")
    server.start()
    with Redis(port=server.port) as client:
        client.config_set("requirepass", "open sesame")
    yield server
    server.kill()


def told(tenantry: Tenantry, command: str, exit_code: int, shared: dict[str, str], **other: str) -> str:
    """What the command says as it stops."""
    ended = tenantry(command, **{**shared, **other})
    said = ended.stdout + ended.stderr
    assert ended.returncode == exit_code, said
    assert "Traceback" not in said
    assert "hidden" not in said
    return said


def as_role(url: str, name: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{name}@{parts.netloc.rpartition('@')[2]}").geturl()


@pytest.mark.parametrize(("command", "exit_code"), COMMANDS)
def test_a_wrong_password_of_the_database(
    tenantry: Tenantry, shared: dict[str, str], guarded: str, command: str, exit_code: int
) -> None:
    password = urlsplit(guarded).password
    assert password is not None
    said = told(tenantry, command, exit_code, shared, DATABASE_URL=guarded.replace(password, "hidden"))
    assert (
        'PostgreSQL refuses the role or its password (password authentication failed for user "tenantry"):'
        " correct them in TENANTRY_DATABASE_URL. PostgreSQL does not say which"
    ) in said


@pytest.mark.promise(
    "security, secrets: a wrong role or password is told in a sentence, without a stack trace of the lease"
)
def test_create_admin_says_a_wrong_password_once(tenantry: Tenantry, shared: dict[str, str], guarded: str) -> None:
    """In one sentence: nothing of the copy in Redis, whose lease asks the database too."""
    password = urlsplit(guarded).password
    assert password is not None
    wrong = {**shared, "DATABASE_URL": guarded.replace(password, "hidden")}
    ended = tenantry("create-admin", "ada@example.com", "--generate", **wrong)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith("PostgreSQL refuses the role or its password (")
    assert len(ended.stderr.splitlines()) == 1


def test_a_missing_password_of_the_database(tenantry: Tenantry, shared: dict[str, str], guarded: str) -> None:
    without = guarded.replace(f":{urlsplit(guarded).password}", "")
    assert "PostgreSQL refuses the role or its password (" in told(tenantry, "migrate", 2, shared, DATABASE_URL=without)


def test_an_unknown_role_and_one_that_may_not_log_in(tenantry: Tenantry, shared: dict[str, str], barred: str) -> None:
    for name, reason in (
        ("nobody", 'role "nobody" does not exist'),
        (barred, f'role "{barred}" is not permitted to log in'),
    ):
        said = told(tenantry, "migrate", 2, shared, DATABASE_URL=as_role(shared["DATABASE_URL"], name))
        assert re.search(rf"PostgreSQL refuses the role or its password \((?:{refusal(name, reason)})\): correct", said)


def refusal(name: str, reason: str) -> str:
    """Pattern of PostgreSQL's reason; a server that asks for passwords, as the embedded one does, gives no other."""
    return f'{reason}|password authentication failed for user "{name}"'


@pytest.mark.parametrize("command", ["check", "doctor"])
def test_a_role_of_the_service_that_is_not_made_yet(tenantry: Tenantry, migrated: dict[str, str], command: str) -> None:
    """As after a restore on a new server: the tables are there, and their owner."""
    url = migrated["DATABASE_URL"]
    said = told(tenantry, command, 1, migrated, DATABASE_OWNER_URL=url, DATABASE_URL=as_role(url, "tenantry_nobody"))
    reason = refusal("tenantry_nobody", 'role "tenantry_nobody" does not exist')
    assert re.search(rf"PostgreSQL refuses the role or its password \((?:{reason})\)", said)
    assert "is made by `tenantry migrate`" in said


@pytest.mark.parametrize(("command", "exit_code"), COMMANDS)
def test_an_unknown_database(tenantry: Tenantry, shared: dict[str, str], command: str, exit_code: int) -> None:
    said = told(tenantry, command, exit_code, shared, DATABASE_URL=renamed(shared["DATABASE_URL"], "no_such_database"))
    assert (
        'database "no_such_database" does not exist: create it, or correct its name in TENANTRY_DATABASE_URL.\n' in said
    )


@pytest.mark.parametrize(
    ("command", "wrong", "exit_code"),
    [
        ("migrate", "password", 2),
        ("migrate", "database", 2),
        ("migrate", "server", 4),
        ("migrate", "option", 2),
        ("serve", "password", 2),
        ("check", "password", 1),
    ],
)
def test_an_error_of_the_owner_url_is_not_reported_for_the_service_url(
    tenantry: Tenantry, shared: dict[str, str], guarded: str, command: str, wrong: str, exit_code: int
) -> None:
    password = urlsplit(guarded).password
    assert password is not None
    url, words = {
        "password": (guarded.replace(password, "hidden"), "correct them in TENANTRY_DATABASE_OWNER_URL. It has to be"),
        "database": (renamed(guarded, "no_such_one"), "or correct its name in TENANTRY_DATABASE_OWNER_URL."),
        "server": (
            "postgresql://u:hidden@127.0.0.1:1/d",
            "The database of TENANTRY_DATABASE_OWNER_URL does not answer",
        ),
        "option": (f"{guarded}&sslmode=foo", "TENANTRY_DATABASE_OWNER_URL cannot be used: "),
    }[wrong]
    said = " ".join(told(tenantry, command, exit_code, shared, DATABASE_OWNER_URL=url).split())
    assert words in said


def test_doctor_names_the_refused_replica(tenantry: Tenantry, migrated: dict[str, str], guarded: str) -> None:
    password = urlsplit(guarded).password
    assert password is not None
    replicas = f"{migrated['DATABASE_URL']},{guarded.replace(password, 'hidden')}"
    said = told(tenantry, "doctor", 1, migrated, DATABASE_REPLICA_URLS=replicas)
    assert "Read replica 2 of TENANTRY_DATABASE_REPLICA_URLS refuses, and the primary answers for it: " in said
    assert "Correct its URL there." in said


REFUSED_BY_REDIS = {
    "/0": "Redis asks for a password: name it in TENANTRY_REDIS_URL, such as redis://:password@host:6379/0.\n",
    ":hidden": "Redis refuses the user name or the password (",
    "someone:hidden": "Redis refuses the user name or the password (",
    "/4": "Redis has no database 4: end TENANTRY_REDIS_URL with the number of one that it has, such as /0.\n",
}


@pytest.mark.promise(
    "declarations, internal errors: a wrong password or database number of Redis, or a password for one that asks for "
    "none, stops the start before anything is migrated"
)
@pytest.mark.parametrize(
    ("command", "exit_code", "wrong"), [*(("serve", 2, wrong) for wrong in REFUSED_BY_REDIS), ("check", 1, "/4")]
)
def test_what_redis_refuses(
    tenantry: Tenantry, shared: dict[str, str], redis_server: RedisServer, command: str, exit_code: int, wrong: str
) -> None:
    here = f"127.0.0.1:{redis_server.port}"
    url = {
        "/0": f"redis://{here}/0",
        "/4": f"redis://:open%20sesame@{here}/4",
    }.get(wrong, f"redis://{wrong}@{here}/0")
    said = told(tenantry, command, exit_code, shared, REDIS_URL=url)
    assert REFUSED_BY_REDIS[wrong] in said


@pytest.mark.promise(
    "declarations, internal errors: a wrong password or database number of Redis, or a password for one that asks for "
    "none, stops the start before anything is migrated"
)
async def test_nothing_is_migrated_for_a_redis_that_refuses(
    tenantry: Tenantry, shared: dict[str, str], redis_server: RedisServer
) -> None:
    told(tenantry, "serve", 2, shared, REDIS_URL=f"redis://127.0.0.1:{redis_server.port}")
    connection = await asyncpg.connect(shared["DATABASE_URL"])
    assert await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    await connection.close()


@pytest.mark.promise(
    "declarations, internal errors: a wrong password or database number of Redis, or a password for one that asks for "
    "none, stops the start before anything is migrated"
)
def test_a_password_for_a_redis_that_asks_for_none(
    tenantry: Tenantry, shared: dict[str, str], redis_server: RedisServer
) -> None:
    with Redis(port=redis_server.port, password="open sesame") as client:
        client.config_set("requirepass", "")
    said = told(tenantry, "serve", 2, shared, REDIS_URL=f"redis://:hidden@127.0.0.1:{redis_server.port}/0")
    assert "Redis refuses the user name or the password (" in said


def test_a_redis_replica_is_refused_because_it_accepts_no_writes(
    tenantry: Tenantry, shared: dict[str, str], redis_server: RedisServer
) -> None:
    with Redis(port=redis_server.port, password="open sesame") as client:
        client.replicaof("127.0.0.1", "1")
    url = f"redis://:open%20sesame@127.0.0.1:{redis_server.port}/0"
    for command, code in (("serve", 2), ("check", 1)):
        assert "names a replica, and replicas do not accept writes: name its master" in told(
            tenantry, command, code, shared, REDIS_URL=url
        )


def test_a_redis_server_that_is_not_a_sentinel_is_refused(
    tenantry: Tenantry, shared: dict[str, str], redis_server: RedisServer
) -> None:
    url = f"redis+sentinel://:open%20sesame@127.0.0.1:{redis_server.port}/main/0"
    said = told(tenantry, "serve", 2, shared, REDIS_URL=url)
    assert "names sentinels, and 127.0.0.1 is none: write redis:// for a single server." in said


@pytest.mark.parametrize("options", ["sslmode=foo", "sslnegotiation=foo"])
def test_a_url_that_the_driver_refuses_is_one_of_the_settings(
    tenantry: Tenantry, servers: tuple[str, str], options: str
) -> None:
    url = f"{servers[0]}{'&' if '?' in servers[0] else '?'}{options}"
    ended = tenantry(
        "users", "list", DATABASE_URL=url, REDIS_URL=servers[1], SECRET_KEY="a secret of 32 letters: 8Xq2fLw0"
    )
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith("TENANTRY_DATABASE_URL cannot be used: "), ended.stderr
