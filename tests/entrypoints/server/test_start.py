"""What a process that serves takes: the libraries that it holds, and its memory.

What a start warns of, and what it refuses: a superuser as the service's login beyond this machine.
"""

import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from adapters.postgres.connection.login_roles import LoginRole
from adapters.postgres.entities.reading.select import statements_of
from entrypoints.assembly.adapters import production_adapters, serving_adapters
from entrypoints.assembly.entities import load_registry
from entrypoints.server.start_warnings import database_warnings, setting_warnings
from entrypoints.settings.settings import read_settings
from entrypoints.settings.this_machine import is_this_machine
from entrypoints.terminal.errors import CommandError
from entrypoints.testing.app import SECRET_KEY
from tests.entrypoints.processes import ROOT, Serve, Tenantry, environment, eventually
from tests.entrypoints.server.test_serve import workers_of
from tests.waiting import HUNG_AFTER

NEEDED_BY_FEW = {
    "aiosmtplib",
    "alembic",
    "httpx",
    "httpx2",
    "jinja2",
    "mako",
    "polars",
    "xlsxwriter",
}
"""Imported by the request, the command or the other process that needs them, never to serve.

SQLAlchemy, its ORM, advanced-alchemy, rich and greenlet are not among them: Litestar and structlog import them where
they are installed, and own endpoints may ask for a session (decision 0011).
"""

IDLE_MIB = 200
"""Most that all processes of a service with one worker have together; what they share counts once. The goal is
170."""

PREPARED_AND_SERVED = """
import os, sys
import entrypoints.cli.main, entrypoints.server.serve, entrypoints.server.preparation
from entrypoints.server.worker import served
from entrypoints.settings.settings import read_settings
served(read_settings(os.environ))
print(*{name.partition(".")[0] for name, module in sys.modules.items() if module is not None})
"""


async def test_the_usual_statements_are_compiled_to_serve_and_for_no_command(migrated: dict[str, str]) -> None:
    settings = read_settings({f"TENANTRY_{name}": value for name, value in migrated.items()})
    compiled = []
    for adapters_of in (production_adapters, serving_adapters):
        registry = load_registry(settings.entities)
        async with adapters_of(settings, registry).life():
            compiled.append([statements_of(registry, model).page.cache_info().currsize for model in registry])
    commands, service = compiled
    assert set(commands) == {0}
    assert 0 not in service


def test_to_serve_nothing_is_imported_that_few_requests_need(tmp_path: Path) -> None:
    """Nor to prepare: the processes that serve are forked from the one that did."""
    variables = {
        "DATABASE_URL": "postgresql://nowhere/x",
        "REDIS_URL": "redis://nowhere",
        "SECRET_KEY": SECRET_KEY,
    }
    ended = subprocess.run(
        [sys.executable, "-c", PREPARED_AND_SERVED],
        cwd=tmp_path,
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=False,
    )
    imported = set(ended.stdout.split())
    assert {"litestar", "asyncpg", "joserfc", "redis"} <= imported, ended.stderr
    assert imported & NEEDED_BY_FEW == set()


def test_no_module_touches_the_import_system() -> None:
    touching = [
        str(path.relative_to(ROOT))
        for layer in ("tenantry", "domain", "application", "adapters", "entrypoints")
        for path in (ROOT / layer).rglob("*.py")
        if "sys.modules" in path.read_text()
    ]
    assert touching == []


COLLECTOR = """
import gc
from litestar import get
from tenantry import ORDINARY, PUBLIC, rules

@get("/collector", opt=rules(policy=PUBLIC, limit=ORDINARY))
async def collector() -> list[int]:
    return [int(gc.isenabled()), int(gc.get_freeze_count() > 100_000), *gc.get_threshold()]

ROUTES = (collector,)
"""


def test_a_process_that_serves_collects_what_requests_leave(
    serve: Serve, migrated: dict[str, str], tmp_path: Path
) -> None:
    """A start collects nothing until everything is made, and leaves that out of all later passes."""
    (tmp_path / "collector.py").write_text(COLLECTOR)
    served = serve(**migrated, ENTITIES="tenantry.catalogue,collector.py")
    eventually(lambda: served.call("GET", "/collector").body == [1, 1, 10_000, 20, 50])


async def test_an_idle_service_uses_limited_memory(serve: Serve, shared: dict[str, str]) -> None:
    served = serve(WORKERS="1", **shared)
    served.log_in(shared["ADMIN_PASSWORD"])
    pids = (served.process.pid, *workers_of(served))
    assert 40 < sum(map(proportional_mib, pids)) < IDLE_MIB
    assert all("/uvloop/" in libraries(pid) for pid in pids)


def libraries(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()


def proportional_mib(pid: int) -> float:
    """Proportional set size: of pages that several processes share, each has its part."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


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
def test_a_superuser_causes_a_warning_locally_and_a_refusal_elsewhere() -> None:
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
def test_an_unencrypted_database_connection_is_reported(server: str | None, is_encrypted: bool, count: int) -> None:
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


def test_idle_clients_with_few_open_files_do_not_block_other_clients(serve: Serve, migrated: dict[str, str]) -> None:
    served = serve("sh", "-c", 'ulimit -n 256 && exec "$0" "$@"', **migrated)
    assert "limit of open files leaves each process 128 connections of clients" in served.words
    where = urlsplit(served.url)
    with ExitStack() as idle:
        for _ in range(20):
            idle.enter_context(socket.create_connection((where.hostname, where.port), HUNG_AFTER))
        assert served.call("GET", "/health/live").status == 200
