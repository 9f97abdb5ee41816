"""``tenantry doctor``, and the page that lists the commands."""

import re
import socket
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest
import rich_click as click
from msgspec.structs import replace

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from entrypoints.cli.main import tenantry as commands
from entrypoints.cli.reports.doctor import mail_server_findings, redis_findings, replicas_findings
from entrypoints.settings.settings import Settings
from entrypoints.settings.variables import Secret
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.followed_entities import REGISTRY
from tests.contracts.entities.changes.webhooks.conftest import Hooks
from tests.contracts.entities.changes.webhooks.test_ports import add, deliveries, stored
from tests.entrypoints.processes import Tenantry, free_port
from tests.servers.redis_servers import RedisServer
from tests.servers.smtp_server import certificate, smtp_server

PAGE = Path("docs/command-line.md")


def test_doctor_reports_problems_with_the_remedy(tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path) -> None:
    settings = {**migrated, "FILES_URL": f"file://{tmp_path}/files"}
    well = tenantry("doctor", **settings, PORT=str(free_port()))
    assert "taken" not in well.stdout, well.stderr
    notes = [line for line in well.stdout.splitlines() if line.startswith("note:")]
    # the embedded servers of tests do not wait for the disk
    is_durable = not any("fsync off" in note for note in notes)
    assert ["TENANTRY_RATE_LIMITS is count" in note for note in notes] == ([True] if is_durable else [True, False])
    assert (well.returncode, well.stdout.endswith("doctor:    nothing else was found\n")) == (1, is_durable)
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        ended = tenantry("doctor", **settings, PORT=port, WORKERS="256", SMTP_URL=f"smtp://127.0.0.1:{free_port()}")
    assert ended.returncode == 1
    assert f"Port {port} is taken" in ended.stdout
    assert "raise max_connections" in ended.stdout
    assert "does not answer: check TENANTRY_SMTP_URL" in ended.stdout


async def test_a_gap_in_row_level_security_is_reported_with_the_remedial_sql(
    tenantry: Tenantry, migrated: dict[str, str]
) -> None:
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    await connection.execute("ALTER TABLE products NO FORCE ROW LEVEL SECURITY")
    for command in (("doctor",), ("migrations", "check")):
        ended = tenantry(*command, **migrated, PORT=str(free_port()))
        assert ended.returncode != 0
        told = " ".join((ended.stdout + ended.stderr).split())
        assert "Row-level security of products is off, or does not hold its owner." in told
        assert "ALTER TABLE products FORCE ROW LEVEL SECURITY;" in told
        assert "migrate --write" not in told
    await connection.execute("ALTER TABLE products FORCE ROW LEVEL SECURITY")
    await connection.close()
    assert "Row-level security" not in tenantry("doctor", **migrated, PORT=str(free_port())).stdout


def test_a_database_without_tables_is_a_sentence(tenantry: Tenantry, shared: dict[str, str]) -> None:
    ended = tenantry("users", "list", **shared)
    assert ended.returncode == 5
    assert "tenantry migrate" in ended.stderr


async def test_doctor_reports_invalid_and_unreachable_replicas(migrated: dict[str, str]) -> None:
    urls = (Secret(migrated["DATABASE_URL"]), Secret(f"postgresql://127.0.0.1:{free_port()}/nowhere"))
    found = [finding async for finding in replicas_findings(Settings(database_replica_urls=urls))]
    assert ["1 of" in found[0], "is no replica" in found[0]] == [True, True]
    assert ["2 of" in found[1], "does not answer" in found[1]] == [True, True]


@pytest.mark.promise("webhooks, deliveries: doctor reports failing and disabled webhooks, and overdue deliveries")
async def test_doctor_reports_webhooks_that_deliver_nothing(tenantry: Tenantry, migrated: dict[str, str]) -> None:
    database = PostgresDatabase(migrated["DATABASE_URL"], REGISTRY, CountingIds(), connections=2)
    await database.open()
    hooks, now = await Hooks(Desk(database)).open(), datetime.now(UTC)
    works = await stored(hooks)
    (delivery,) = deliveries(works, 1)
    await add(hooks, replace(delivery, created_at=now - timedelta(minutes=59)))
    assert "ebhooks" not in tenantry("doctor", **migrated, PORT=str(free_port())).stdout
    await stored(hooks, failing_since=now)
    await stored(hooks, failing_since=now, is_active=False, disabled_at=now)
    await add(hooks, *(replace(each, created_at=now - timedelta(minutes=61)) for each in deliveries(works, 2, first=2)))
    told = " ".join(tenantry("doctor", **migrated, PORT=str(free_port())).stdout.split())
    assert "1 webhooks fail and 1 are disabled: GET /api/webhooks of their tenants" in told
    assert "2 deliveries of webhooks are due for more than an hour" in told
    await database.close()


async def test_doctor_reports_a_redis_that_evicts_keys(tmp_path: Path) -> None:
    for policy, count in (("noeviction", 0), ("allkeys-lru", 1)):
        server = RedisServer(tmp_path, "--maxmemory-policy", policy)
        server.start()
        try:
            settings = Settings(redis_url=Secret(server.url))
            found = [finding async for finding in redis_findings(settings)]
        finally:
            server.kill()
        assert [policy in finding for finding in found] == [True] * count


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
async def test_doctor_reports_a_mail_server_with_refused_login_or_untrusted_certificate(
    tmp_path: Path,
) -> None:
    sender = "no-reply@example.com"
    async with smtp_server(login=True) as server:
        url = "smtp://mailer:{}@127.0.0.1:" + str(server.port)
        assert [finding async for finding in mail_server_findings(url.format("p%40ss%3Aword%2F"), sender)] == []
        (refused,) = [finding async for finding in mail_server_findings(url.format("another"), sender)]
    assert "does not accept mail from here (535" in refused
    assert "another" not in refused
    shown, _ = certificate(tmp_path)
    async with smtp_server(starttls=shown) as server:
        url = f"smtp://127.0.0.1:{server.port}?starttls=true"
        (unknown,) = [finding async for finding in mail_server_findings(url, sender)]
    assert "CERTIFICATE_VERIFY_FAILED" in unknown
    assert server.envelopes == []


def test_the_page_names_every_command() -> None:
    told = set()
    for row in re.findall(r"^\| (`tenantry [^|]*) \|", PAGE.read_text("utf-8"), re.MULTILINE):
        group = ""
        for command in re.findall(r"`([^`]+)`", row):
            words = command.removeprefix("tenantry ").split()
            group = words[0] if command.startswith("tenantry") else group
            told.add(" ".join(words) if command.startswith("tenantry") else f"{group} {words[0]}")
    assert told == set(_named(commands))


def _named(group: click.RichGroup, before: str = "") -> list[str]:
    found = []
    for name, command in group.commands.items():
        full = f"{before}{name}"
        found += _named(command, f"{full} ") if isinstance(command, click.RichGroup) else [full]
    return found
