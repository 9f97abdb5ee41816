"""``tenantry doctor``: common problems except wrong settings, each with its remedy."""

import asyncio
import errno
import shutil
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from adapters.mail.smtp import SmtpMailer
from adapters.mail.smtp_url import read_smtp_url
from adapters.postgres.connection.server_facts import database_facts, lock_holder, replica_facts
from adapters.postgres.entities.changes.sequencer import SEQUENCER_LOCK
from adapters.redis.connection_check import redis_facts
from application.operations.monitoring import LATE_AFTER
from application.ports.mail_delivery import MailServerUnavailable
from domain.errors import ServiceUnavailable
from domain.scope import EveryTenant
from entrypoints.cli.attachments.probing import file_store_findings
from entrypoints.cli.operator import open_services
from entrypoints.cli.reports.findings import Findings
from entrypoints.server.failures import REFUSED, explained
from entrypoints.server.servers import any_servers
from entrypoints.settings.settings import Settings

LEAST_DISK = 2**30
"""Minimum free bytes for DATA_DIR."""
MOST_CLOCK_DIFFERENCE = 2.0
"""Maximum clock difference in seconds."""
CONNECTIONS_BESIDE_POOL = 2
"""Connections that each worker needs for background work, in addition to those for requests."""
MAIL_SERVER_ANSWERS_WITHIN = 3.0
"""Seconds for the mail server's answer."""
MAIL_SERVER_ACCEPTS_WITHIN = 10.0
"""Timeout for TLS and the login, in seconds, because some servers delay their greeting."""


def examine(settings: Settings, findings: Findings) -> bool:
    """Report each finding; return True if none exists, including the preceding check's."""
    noted = any(finding.subject == "note" for finding in findings.found)
    found = list(_machine(settings))
    with any_servers(settings) as (ready, running):
        if running is None:
            found += _port(settings)
        found += asyncio.run(_collected(ready))
    for finding in found:
        findings.say("note", finding)
    if not found:
        findings.say("doctor", "nothing else was found")
    return not (found or noted)


async def _collected(settings: Settings) -> list[str]:
    found = []
    async with explained(settings):
        for source in SOURCES:
            found += [finding async for finding in source(settings)]
    return found


def _machine(settings: Settings) -> Iterator[str]:
    # The first start creates the folder, so check the place where it will be.
    folder = settings.data_dir.resolve()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < LEAST_DISK:
        yield f"{folder} has {free // 2**20} MiB left: free some space, or move TENANTRY_DATA_DIR."
    yield from _writable(folder)


def _writable(folder: Path) -> Iterator[str]:
    probe = folder / ".tenantry-doctor"
    try:
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        yield f"{folder} cannot be written ({error.strerror}): give the service's user rights on it."


def _port(settings: Settings) -> list[str]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_STREAM)) as asked:
        # As the server does: otherwise a recently closed port would count as occupied.
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            asked.bind((settings.host, settings.port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                taken = f"Port {settings.port} is taken, which is right where this service runs already"
                return [f"{taken}. Else stop the other program, or choose another port by TENANTRY_PORT."]
            return [f"{settings.host}:{settings.port} cannot be listened on ({error.strerror}): see TENANTRY_HOST."]
    return []


async def database_findings(settings: Settings) -> AsyncIterator[str]:
    assert settings.database_url is not None
    facts = await database_facts(settings.database_url.reveal())
    difference = abs((facts.now - datetime.now(UTC)).total_seconds())
    if difference > MOST_CLOCK_DIFFERENCE:
        yield (
            f"The clocks of this machine and of the database differ by {difference:.0f} s: set both by NTP, or tokens"
            " begin and end at the wrong time."
        )
    wanted = settings.workers * (settings.database_connections + CONNECTIONS_BESIDE_POOL)
    if wanted > facts.most_connections - facts.connections:
        yield (
            f"PostgreSQL takes {facts.most_connections} connections and has {facts.connections}; this service may open"
            f" {wanted}: raise max_connections, or lower TENANTRY_DATABASE_CONNECTIONS."
        )
    if not facts.is_durable:
        yield "PostgreSQL runs with fsync off: what was answered may be lost when its machine fails. Turn it on."


async def replicas_findings(settings: Settings) -> AsyncIterator[str]:
    for number, url in enumerate(settings.database_replica_urls, 1):
        # Security: name the replica by number, because the URL contains a password and users paste findings into
        # tickets.
        named = f"Read replica {number} of TENANTRY_DATABASE_REPLICA_URLS"
        try:
            facts = await replica_facts(url.reveal())
        except ServiceUnavailable:
            # Continue: the service starts and serves without its replicas.
            yield f"{named} does not answer: the primary answers for it."
            continue
        except REFUSED as refusal:
            yield f"{named} refuses, and the primary answers for it: {refusal}. Correct its URL there."
            continue
        if not facts.is_standby:
            yield f"{named} is no replica: it is never read from. Take it out, or build it by pg_basebackup -R."
        elif not facts.holds_back_cleaning:
            yield f"{named} may cancel long exports: set hot_standby_feedback = on there."


async def redis_findings(settings: Settings) -> AsyncIterator[str]:
    assert settings.redis_url is not None
    facts = await redis_facts(settings.redis_url.reveal())
    if facts is not None and facts.eviction != "noeviction":
        yield (
            f"Redis drops keys when it is full (maxmemory-policy is {facts.eviction}), limits and token versions among"
            " them: run CONFIG SET maxmemory-policy noeviction, and set it in its configuration."
        )


async def mail_findings(settings: Settings) -> AsyncIterator[str]:
    async with open_services(settings) as services, services.database.read_only(EveryTenant()) as read:
        given_up = await read.outbox.given_up(1)
    if given_up:
        yield "Mails were given up: `tenantry mail list` shows them with the reason, `tenantry mail retry` sends them."
    if settings.smtp_url is not None:
        async for finding in mail_server_findings(settings.smtp_url.reveal(), settings.mail_from):
            yield finding


async def changes_findings(settings: Settings) -> AsyncIterator[str]:
    async with open_services(settings) as services:
        lag = (await services.monitoring.shared_state()).changes_lag
    if lag is None or lag <= LATE_AFTER:
        return
    late = f"The feed is {lag.total_seconds():.0f} s late: changes wait for their positions."
    holder = await lock_holder(settings.owner_url, SEQUENCER_LOCK)
    if holder is None:
        yield f"{late} Check that a process of the service runs, and its log for errors of changes."
    else:
        since = "" if holder.since is None else f" since {holder.since:%Y-%m-%d %H:%M:%S} UTC"
        yield (
            f"{late} Process {holder.pid} of PostgreSQL ({holder.program}, {holder.state}, from {holder.address}) holds"
            f" the lock of the sequencer{since}: if it does not end, run SELECT pg_terminate_backend({holder.pid})."
        )


async def webhook_findings(settings: Settings) -> AsyncIterator[str]:
    async with open_services(settings) as services, services.database.read_only(EveryTenant()) as read:
        backlog = await read.deliveries.backlog(services.clock.now())
    if backlog.failing or backlog.disabled:
        yield (
            f"{backlog.failing} webhooks fail and {backlog.disabled} are disabled: GET /api/webhooks of their tenants"
            " shows the health, and the deliveries show the reasons."
        )
    if backlog.overdue:
        yield (
            f"{backlog.overdue} deliveries of webhooks are due for more than an hour: check the log for errors of"
            " webhooks, and that a process of the service runs."
        )


async def mail_server_findings(url: str, sender: str) -> AsyncIterator[str]:
    server = read_smtp_url(url)
    if not await _answers(server.host, server.port):
        yield f"The mail server {server.host}:{server.port} does not answer: check TENANTRY_SMTP_URL."
        return
    try:
        await SmtpMailer(server, sender, MAIL_SERVER_ACCEPTS_WITHIN).ensure_accepted()
    except MailServerUnavailable as refusal:
        yield (
            f"The mail server {server.host}:{server.port} answers, but does not accept mail from here ({refusal}):"
            " check TENANTRY_SMTP_URL."
        )


async def _answers(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(MAIL_SERVER_ANSWERS_WITHIN):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    return True


SOURCES = (
    database_findings,
    replicas_findings,
    redis_findings,
    mail_findings,
    changes_findings,
    webhook_findings,
    file_store_findings,
)
"""Checks of the servers, in the order of their findings."""
