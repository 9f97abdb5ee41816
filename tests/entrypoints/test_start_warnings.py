"""What a start warns of, and what it refuses: a superuser as the service's login beyond this machine."""

import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import asyncpg
import pytest

from adapters.postgres.connection.login_roles import LoginRole
from entrypoints.server.start_warnings import database_warnings, setting_warnings
from entrypoints.settings.settings import read_settings
from entrypoints.settings.this_machine import is_this_machine
from entrypoints.terminal.errors import CommandError
from tests.entrypoints.processes import Serve, Tenantry
from tests.waiting import HUNG_AFTER

BEYOND = "https://app.example"
SUPERUSER = LoginRole("postgres", passes_row_security=True, is_encrypted=False, server="127.0.0.1")
PLAIN = LoginRole("tenantry_login", passes_row_security=False, is_encrypted=False, server="127.0.0.1")

WARNED = [
    ({}, []),
    ({"BASE_URL": BEYOND, "SMTP_URL": "smtps://mail.example"}, []),
    ({"BASE_URL": "http://app.example", "SMTP_URL": "smtps://mail.example"}, ["BASE_URL is http://app.example"]),
    ({"BASE_URL": BEYOND}, ["SMTP_URL is not set: mails are files"]),
    ({"SMTP_URL": "smtp://user:hidden@mail.example"}, ["mails go to mail.example in clear"]),
    ({"SMTP_URL": "smtp://mail.example?starttls=true"}, []),
    ({"SMTP_URL": "smtp://127.0.0.1:25"}, []),
    ({"REDIS_URL": "redis://:hidden@cache.example"}, ["the connection to cache.example is in clear"]),
    ({"REDIS_URL": "rediss://cache.example"}, []),
    ({"REDIS_URL": "unix:///run/valkey.sock"}, []),
    (
        {"REDIS_URL": "redis+cluster://:hidden@cache.example,127.0.0.1"},
        ["the connection to cache.example is in clear; use rediss+cluster://"],
    ),
    ({"REDIS_URL": "rediss+sentinel://:hidden@a.example,b.example/main"}, []),
    ({"REDIS_URL": "redis+sentinel://a.example,b.example/main"}, ["connection to a.example, b.example is in clear"]),
    ({"RATE_LIMITS": "off"}, ["RATE_LIMITS is off"]),
]


@pytest.mark.promise(
    "security, row-level security: Connections to PostgreSQL, Redis and the mail server that leave this machine in "
    "clear are told, and so is an http BASE_URL"
)
@pytest.mark.parametrize(("variables", "expected"), WARNED)
def test_a_start_warns_of(variables: dict[str, str], expected: list[str]) -> None:
    settings = read_settings({f"TENANTRY_{name}": value for name, value in variables.items()})
    warnings = list(setting_warnings(settings))
    assert len(warnings) == len(expected)
    assert all(words in warning for words, warning in zip(expected, warnings, strict=True))
    assert "hidden" not in "".join(warnings)


@pytest.mark.parametrize("host", ["localhost", "api.localhost", "127.0.0.1", "127.1.2.3", "::1", None])
def test_this_machine(host: str | None) -> None:
    assert is_this_machine(host)


@pytest.mark.parametrize("host", ["app.example", "10.0.0.1", "0.0.0.0", "localhost.example", "mylocalhost", "::"])
def test_other_machines(host: str) -> None:
    assert not is_this_machine(host)


@pytest.mark.promise(
    "security, row-level security: a superuser as the service's login is warned of, and refused where the service is "
    "not for this machine alone"
)
def test_a_superuser_is_warned_of_here_and_refused_elsewhere() -> None:
    here, beyond = read_settings({}), read_settings({"TENANTRY_BASE_URL": BEYOND})
    (warning,) = database_warnings(SUPERUSER, here, allows_superuser=False)
    assert "logs in as postgres" in warning
    with pytest.raises(CommandError, match="--allow-superuser"):
        list(database_warnings(SUPERUSER, beyond, allows_superuser=False))
    assert len(list(database_warnings(SUPERUSER, beyond, allows_superuser=True))) == 1
    assert list(database_warnings(PLAIN, beyond, allows_superuser=False)) == []


@pytest.mark.promise(
    "security, row-level security: Connections to PostgreSQL, Redis and the mail server that leave this machine in "
    "clear are told, and so is an http BASE_URL"
)
@pytest.mark.parametrize(
    ("server", "is_encrypted", "count"), [("10.0.0.5", False, 1), ("10.0.0.5", True, 0), (None, False, 0)]
)
def test_a_database_in_clear_is_told(server: str | None, is_encrypted: bool, count: int) -> None:
    role = LoginRole("tenantry_login", passes_row_security=False, is_encrypted=is_encrypted, server=server)
    assert len(list(database_warnings(role, read_settings({}), allows_superuser=False))) == count


@pytest.mark.promise(
    "security, row-level security: a superuser as the service's login is warned of, and refused where the service is "
    "not for this machine alone"
)
def test_the_start_refuses_a_superuser_beyond_this_machine(tenantry: Tenantry, shared: dict[str, str]) -> None:
    ended = tenantry("serve", **shared, BASE_URL=BEYOND)
    assert ended.returncode == 2, ended.stderr
    assert "row-level security does not hold" in ended.stderr
    assert "Traceback" not in ended.stderr


async def test_a_start_warns_of_tables_that_are_open_or_closed(serve: Serve, migrated: dict[str, str]) -> None:
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    await connection.execute(
        "ALTER TABLE products DISABLE ROW LEVEL SECURITY; DROP POLICY tenant_rows ON reviews;"
        " REVOKE DELETE ON categories FROM tenantry_service"
    )
    await connection.close()
    words = serve(**migrated).words
    assert "Row-level security of products, reviews is off, or lacks its policy" in words
    assert "The role tenantry_service lacks rights on categories: run `tenantry migrate`" in words


def test_a_start_warns_of_nothing_in_a_database_as_migrated(serve: Serve, migrated: dict[str, str]) -> None:
    words = serve(**migrated).words
    assert "Row-level security" not in words
    assert "lacks rights" not in words
    assert "limit of open files" not in words


def test_with_few_open_files_some_clients_do_not_keep_others_out(serve: Serve, migrated: dict[str, str]) -> None:
    served = serve("sh", "-c", 'ulimit -n 256 && exec "$0" "$@"', **migrated)
    assert "limit of open files leaves each process 128 connections of clients" in served.words
    where = urlsplit(served.url)
    with ExitStack() as idle:
        for _ in range(20):
            idle.enter_context(socket.create_connection((where.hostname, where.port), HUNG_AFTER))
        assert served.call("GET", "/health/live").status == 200
