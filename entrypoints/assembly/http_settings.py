"""Settings of the HTTP layer, derived from the service's."""

from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

from litestar.config.compression import CompressionConfig
from litestar.config.cors import CORSConfig
from litestar.types import ControllerRouterHandler

from adapters import console
from adapters.http.app import HttpSettings
from adapters.http.console.pages import Console
from adapters.http.docs.pages import About
from adapters.http.entities.attachments.sending import UNCOMPRESSED
from adapters.http.operations.access_log import log_access
from application.ports.access_log import AccessLog
from entrypoints.assembly.mail import inbox_of
from entrypoints.settings.settings import Settings
from entrypoints.settings.this_machine import is_this_machine

EXPOSED = (
    "ETag",
    "Location",
    "Retry-After",
    "Idempotent-Replayed",
    "X-Changes-Cursor",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-Read-After",
    "X-Request-Id",
)
"""Response headers readable by scripts of other origins."""

EXPORTS = "/export$"
STREAMS = "/changes/stream$"
CONSOLE = "^/console(/|$)"
ASSETS = "^/[^/]+/assets/"


def http_settings(
    settings: Settings, routes: Sequence[ControllerRouterHandler] = (), log: AccessLog = log_access
) -> HttpSettings:
    return HttpSettings(
        about=About(
            root=settings.docs_root,
            title=settings.docs_title,
            version=settings.docs_version,
            description=settings.docs_description,
            contact_name=settings.docs_contact_name,
            contact_email=settings.docs_contact_email,
            contact_url=settings.docs_contact_url,
            license_url=settings.docs_license_url,
        ),
        console=Console(
            files=console.files() if settings.console else {},
            base_url=settings.base_url,
            remembered=timedelta(days=settings.refresh_token_days),
        ),
        trusted_proxies=settings.trusted_proxies,
        counts_limits=settings.rate_limits != "off",
        server_timing=settings.server_timing,
        log=log,
        inbox=inbox_of(settings),
        metrics_token=settings.metrics_token.reveal() if settings.metrics_token else None,
        is_public=not is_this_machine(urlsplit(settings.base_url).hostname),
        routes=tuple(routes),
        cors=_cors(settings),
        allowed_hosts=_allowed_hosts(settings),
        files_host=_files_host(settings),
        is_https=_is_https(settings.base_url),
        recent=timedelta(minutes=settings.reauth_minutes),
        compression=_compression(settings),
    )


def _files_host(settings: Settings) -> str:
    """Return the name of the host for links to files; empty if it is also the host of the service."""
    host = urlsplit(settings.files_base_url).hostname or ""
    return "" if host == urlsplit(settings.base_url).hostname else host


def _allowed_hosts(settings: Settings) -> tuple[str, ...]:
    host = _files_host(settings)
    return (*settings.allowed_hosts, host) if settings.allowed_hosts and host else settings.allowed_hosts


def _cors(settings: Settings) -> CORSConfig | None:
    """Return the CORS configuration: no cookies for these origins, and the headers that clients need."""
    if not settings.cors_origins:
        return None
    return CORSConfig(allow_origins=list(settings.cors_origins), expose_headers=list(EXPOSED))


def _compression(settings: Settings) -> CompressionConfig | None:
    """Exclude exports, because compression would delay their pieces, streams, because each would have a large buffer,
    and the console's and documentation's files, compressed when built.
    """
    return (
        CompressionConfig("gzip", exclude=[EXPORTS, STREAMS, CONSOLE, ASSETS], exclude_opt_key=UNCOMPRESSED)
        if settings.compression == "gzip"
        else None
    )


def _is_https(base_url: str) -> bool:
    """Return whether to restrict browsers to https: never on localhost, shared with other projects."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    return parts.scheme == "https" and host != "localhost" and not host.endswith(".localhost")
