"""Startup warnings: settings safe only on this machine, and unencrypted connections."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from adapters.mail.smtp_url import read_smtp_url
from adapters.redis.address import read_address
from entrypoints.assembly.files import files_folder
from entrypoints.assembly.traces import trace_warnings
from entrypoints.settings.settings import Settings
from entrypoints.settings.this_machine import is_this_machine
from entrypoints.terminal.errors import SETTINGS, CommandError

if TYPE_CHECKING:
    from adapters.postgres.connection.login_roles import LoginRole  # commands would otherwise import the driver
    from domain.entities.declaration import Registry

PLAIN_ROLE = (
    "Name its owner in TENANTRY_DATABASE_OWNER_URL and a role that is not there yet in TENANTRY_DATABASE_URL: the start"
    " makes that role, without rights of its own."
)


def setting_warnings(settings: Settings) -> Iterator[str]:
    """Return warnings about valid but unsafe settings."""
    if settings.rate_limits == "count":
        yield "TENANTRY_RATE_LIMITS is count: limits are shown, and nothing is refused."
    if settings.rate_limits == "off":
        yield "TENANTRY_RATE_LIMITS is off: requests are not limited."
    if not is_this_machine(urlsplit(settings.base_url).hostname):
        if settings.base_url.startswith("http://"):
            yield f"TENANTRY_BASE_URL is {settings.base_url}: passwords and tokens cross the network in clear."
        if settings.smtp_url is None:
            yield f"TENANTRY_SMTP_URL is not set: mails are files in {settings.data_dir / 'mail'}, and reach nobody."
    yield from _in_clear(settings)
    yield from trace_warnings(os.environ)


def file_warnings(settings: Settings, registry: "Registry") -> Iterator[str]:
    """Warn about files of rows that other machines do not find."""
    if settings.database_url is not None and not settings.files_url and any(model.attachments for model in registry):
        yield (
            f"TENANTRY_FILES_URL is not set: files of rows are in {files_folder(settings)} on this machine. All"
            " replicas need the same folder."
        )


def _in_clear(settings: Settings) -> Iterator[str]:
    if settings.smtp_url is not None:
        server = read_smtp_url(settings.smtp_url.reveal())
        if not (server.tls or server.starttls) and not is_this_machine(server.host):
            yield f"TENANTRY_SMTP_URL: mails go to {server.host} in clear; use smtps:// or ?starttls=true."
    redis = read_address(settings.redis_url.reveal()) if settings.redis_url else None
    away = [host for host, _ in redis.hosts if not is_this_machine(host)] if redis and not redis.tls else []
    if redis is not None and away:
        scheme = "rediss" if redis.kind == "server" else f"rediss+{redis.kind}"
        yield f"TENANTRY_REDIS_URL: the connection to {', '.join(away)} is in clear; use {scheme}://."


def database_warnings(role: "LoginRole", settings: Settings, *, allows_superuser: bool) -> Iterator[str]:
    """Return warnings about the service's session. Raises CommandError for a superuser on another machine."""
    if role.server is not None and not role.is_encrypted and not is_this_machine(role.server):
        yield (
            f"TENANTRY_DATABASE_URL: the connection to {role.server} is in clear; set up TLS there, and end the URL"
            " with ?sslmode=verify-full."
        )
    if not role.passes_row_security:
        return
    problem = (
        f"TENANTRY_DATABASE_URL logs in as {role.name}, a role that row-level security does not hold. {PLAIN_ROLE}"
    )
    if not allows_superuser and not is_this_machine(urlsplit(settings.base_url).hostname):
        raise CommandError(f"{problem} To start all the same: tenantry serve --allow-superuser", SETTINGS)
    yield problem
