"""What browsers are told and allowed: other origins, compressed answers, and https."""

from urllib.parse import urlsplit

from litestar.config.compression import CompressionConfig
from litestar.config.cors import CORSConfig

from entrypoints.settings.settings import Settings

EXPOSED = (
    "ETag",
    "Location",
    "Retry-After",
    "Idempotent-Replayed",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-Request-Id",
)
"""Headers of responses that scripts of other origins may read."""

EXPORTS = "/export$"
CONSOLE = "^/console(/|$)"


def cors(settings: Settings) -> CORSConfig | None:
    """Browsers on these origins may call, and see what a client needs; cookies are never asked for."""
    if not settings.cors_origins:
        return None
    return CORSConfig(allow_origins=list(settings.cors_origins), expose_headers=list(EXPOSED))


def compression(settings: Settings) -> CompressionConfig | None:
    """Exports stay as they are: compressing a stream piece by piece would hold back what has been read.

    Files of the console were compressed when it was built.
    """
    return CompressionConfig("gzip", exclude=[EXPORTS, CONSOLE]) if settings.compression == "gzip" else None


def is_https(base_url: str) -> bool:
    """Whether browsers may be told to come by https alone: on localhost that would hold for every other project too."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    return parts.scheme == "https" and host != "localhost" and not host.endswith(".localhost")
