"""SMTP server and connection settings, read from a URL."""

from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct


class SmtpServer(Struct, frozen=True, kw_only=True):
    """Address and credentials of a server. ``tls`` encrypts from the first byte (smtps), ``starttls`` after EHLO."""

    host: str
    port: int
    user: str | None = None
    password: str | None = None
    tls: bool = False
    starttls: bool = False

    # Security: omit the password from logs and tracebacks.
    def __repr__(self) -> str:
        return f"SmtpServer({self.host}:{self.port})"


def read_smtp_url(url: str) -> SmtpServer:
    """Read ``smtp://user:password@host:port?starttls=true`` or ``smtps://…``. Raises ValueError."""
    parts = urlsplit(url)
    asked = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    starttls = asked.pop("starttls", "false").lower()
    tls = parts.scheme == "smtps"
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.path.strip("/") or parts.fragment or asked:
        raise ValueError
    parts.hostname.encode("idna")  # raises ValueError for a name that resolvers do not accept
    if starttls not in ("true", "false") or (tls and starttls == "true"):
        raise ValueError
    return SmtpServer(
        host=parts.hostname,
        port=parts.port or (465 if tls else 587 if starttls == "true" else 25),
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        tls=tls,
        starttls=starttls == "true",
    )
