"""Variable: the accepted values of an environment variable in words, and its parser."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_network
from itertools import pairwise
from math import log2
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar
from urllib.parse import SplitResult, parse_qs, urlsplit

import msgspec
from msgspec import Meta

from adapters.mail.smtp_url import read_smtp_url
from adapters.objects.address import read_store_url
from adapters.redis.address import OPTIONS, SERVER_SCHEMES, TLS_OPTIONS, read_address
from domain.identity.identifiers import is_identifier
from domain.identity.service_accounts import PREFIX
from domain.identity.users import PASSWORD_LENGTH, email_key

T = TypeVar("T")

Network = IPv4Network | IPv6Network

SECRET_LENGTH = 32
LEAST_BITS = 80
"""Minimum entropy in bits of a secret key, by the frequency of its characters: 32 random hex digits have about 117
bits.
"""
DOCS_ROOTS_TAKEN = (
    "api",
    "health",
    "metrics",
    "account",
    "console",
    "files",
)  # first path segments of the service's own routes
# values of target_session_attrs in PostgreSQL
_SESSIONS = frozenset({"any", "read-write", "read-only", "primary", "standby", "prefer-standby"})
_TRUE = ("true", "on", "yes", "1")
_FALSE = ("false", "off", "no", "0")


class Secret:
    """A value that logs, errors and ``repr`` do not show; ``reveal`` returns it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"


class Refused(ValueError):
    """A well-formed but refused value; the message continues "got 48 characters"."""


@dataclass(frozen=True)
class Variable(Generic[T]):
    """Kind of a variable. ``read`` raises ValueError; ``takes`` describes the accepted values in an error.

    ``secret`` omits the value from the error.
    """

    takes: str
    read: Callable[[str], T]
    secret: bool = False


def converted(takes: str, hint: Any) -> Variable[Any]:
    """Return a variable that msgspec reads as the type ``hint``, such as ``Annotated[int, Meta(ge=1)]``."""
    return Variable(takes, partial(msgspec.convert, type=hint, strict=False))


def number(lowest: int, highest: int) -> Variable[int]:
    def read(text: str) -> int:
        # msgspec reads 1e3 as an integer, too.
        ensure(re.fullmatch(r"-?[0-9]{1,18}", text) is not None and lowest <= int(text) <= highest)
        return int(text)

    return Variable(f"a whole number from {lowest} to {highest}", read)


def matching(takes: str, pattern: str) -> Variable[str]:
    """Return a variable for a text that ``pattern`` must match completely."""
    # \Z, because $ also accepts a final line feed.
    return converted(takes, Annotated[str, Meta(pattern=rf"^(?:{pattern})\Z")])


def secret(takes: str, meta: Meta) -> Variable[Secret]:
    return Variable(takes, lambda text: Secret(msgspec.convert(text, Annotated[str, meta])), secret=True)


def one_of(*choices: str) -> Variable[str]:
    # Choices are known only at run time, so type checkers cannot read the hint.
    hint = Literal[choices]  # type: ignore[valid-type]
    return Variable(f"one of: {', '.join(choices)}", lambda text: msgspec.convert(text.lower(), hint))


def several(takes: str, part: Variable[T]) -> Variable[tuple[T, ...]]:
    """Return a variable for a comma-separated list of at least one ``part``. The list is secret if ``part`` is."""
    return Variable(
        f"{takes}, separated by commas", lambda text: tuple(part.read(name) for name in _names(text)), part.secret
    )


def url(*schemes: str) -> Variable[str]:
    return Variable(_url_words(schemes), lambda text: _url(text, schemes).geturl())


def secret_url(*schemes: str) -> Variable[Secret]:
    def read(text: str) -> Secret:
        parts = _url(_of_one_host(text), schemes)
        _ensure_hosts(text)
        # The host may be in the query: postgresql:///tenantry?host=/run/postgresql.
        ensure(bool(parts.hostname or parts.query or parts.path.strip("/")))
        return Secret(text)

    return Variable(_url_words(schemes), read, secret=True)


def _redis_url(text: str) -> Secret:
    ensure(not _has_blank(text))
    address = read_address(text)
    return secret_url(*SERVER_SCHEMES).read(text) if address.kind == "server" else Secret(text)


def _of_one_host(text: str) -> str:
    """Return the URL with only the first of several hosts, as in ``postgresql://u@db1:5432,db2:5432/d``."""
    found = re.fullmatch(r"(postgres(?:ql)?://(?:[^/?#]*@)?[^,/?#@]+),[^/?#@]+(.*)", text)
    return found[1] + found[2] if found else text


def _ensure_hosts(text: str) -> None:
    """Raises ValueError for an invalid host or port, also in the query."""
    parts = urlsplit(text)
    query = parse_qs(parts.query)
    hosts = parts.netloc.rpartition("@")[2].split(",")
    ports = ",".join(query.get("port", [])).split(",")
    # urlsplit validates the port when it is read
    found = [*(urlsplit(f"//{host}").port for host in hosts), *(int(port) for port in ports if port)]
    ensure(all(port is None or 0 < port < 65_536 for port in found))
    ensure(query.get("target_session_attrs", ["any"])[-1] in _SESSIONS)


def ensure(holds: bool) -> None:
    if not holds:
        raise ValueError


def _url_words(schemes: tuple[str, ...]) -> str:
    return "a URL that begins with " + " or ".join(f"{scheme}://" for scheme in schemes)


def _url(text: str, schemes: tuple[str, ...]) -> SplitResult:
    parts = urlsplit(text)
    # urlsplit validates the port when it is read, and raises ValueError.
    ensure(parts.scheme in schemes and "://" in text and (parts.port or 1) > 0 and not _has_blank(text))
    ensure_host(parts.hostname or "")
    return parts


def ensure_host(name: str) -> None:
    """Raise ValueError for a name with an empty label or one over 63 letters: every resolver rejects it."""
    name.encode("idna")


def _has_blank(text: str) -> bool:
    return any(char.isspace() for char in text)


def _flag(text: str) -> bool:
    ensure(text.lower() in _TRUE + _FALSE)
    return text.lower() in _TRUE


def _host(text: str) -> str:
    ensure(re.fullmatch(r"[A-Za-z0-9.:_-]+", text) is not None)
    ensure_host(text)
    # BASE_URL's default contains the host: a name with a colon, other than an IPv6 address, would make an invalid URL.
    return str(IPv6Address(text)) if ":" in text else text


def _base_url(text: str) -> str:
    parts = _url(text, ("http", "https"))
    # Security: allow no query and no password, because the service appends paths and publishes the URL in the API's
    # document.
    ensure(bool(parts.hostname) and not parts.query and not parts.fragment and parts.username is None)
    return text.rstrip("/")


def _page_url(text: str) -> str:
    ensure(bool(_url(text, ("http", "https")).hostname) and "#" not in text)
    return text


def _smtp_url(text: str) -> Secret:
    ensure(not _has_blank(text))
    read_smtp_url(text)
    return Secret(text)


def _files_url(text: str) -> str:
    if re.fullmatch(r"file:///[^?#\s]*", text) is None:
        ensure(not _has_blank(text))
        read_store_url(text)
    return text


def _secret_key(text: str) -> Secret:
    ensure(len(text) >= SECRET_LENGTH)
    if reason := _regularity(text):
        raise Refused(reason)
    return Secret(text)


def _regularity(text: str) -> str | None:
    """Return the reason why the text is guessable, as a continuation of "got 48 characters", or None."""
    # a repeated text, possibly with a truncated end
    if any(text[period:] == text[:-period] for period in range(1, len(text) // 2 + 1)):
        return "that repeat the same text"
    steps = [abs(ord(after) - ord(before)) for before, after in pairwise(text)]
    if 2 * sum(step <= 1 for step in steps) > len(steps):
        return "most of which follow their neighbour, as in abcdef or aaaa"
    shares = [count / len(text) for count in Counter(text).values()]
    is_poor = -sum(share * log2(share) for share in shares) * len(text) < LEAST_BITS
    return "of which too few are different" if is_poor else None


def _folder(text: str) -> Path:
    ensure("\0" not in text)
    try:
        return Path(text).expanduser()
    except RuntimeError as error:  # the account does not exist or does not have a home folder
        raise ValueError from error


def _email(text: str) -> str:
    ensure(email_key(text) is not None)
    return text


def _sender(text: str) -> str:
    named = re.fullmatch(r"[^<>\r\n]*<([^<>]+)>", text)
    _email(named[1] if named else text)
    return text


def _identifier(text: str) -> str:
    ensure(is_identifier(text))
    return text


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    ensure(bool(names))
    return names


def _network(text: str) -> Network:
    return ip_network(text, strict=False)


def _origin(text: str) -> str:
    """Scheme, host and port as browsers write them: ``https://app.example:8443``; or ``*``."""
    if text == "*":
        return text
    parts = _url(text.lower(), ("http", "https"))
    ensure(bool(parts.hostname) and parts.path in ("", "/") and parts.username is None)
    ensure("?" not in text and "#" not in text)
    return f"{parts.scheme}://{parts.netloc}"


def _passkey_origin(text: str) -> str:
    """Web origin, or an app in Android's passkey notation."""
    if text.startswith("android:apk-key-hash:") and len(text) > len("android:apk-key-hash:"):
        return text
    ensure(text != "*")
    return _origin(text)


FLAG = Variable("true or false", _flag)
SWITCH = Variable("on or off", _flag)
TEXT = Variable("text", str)
HOST = Variable("a host name or an address", _host)
FUNCTION = matching("module:function, or file.py:function", r"[^\s:]+:[A-Za-z_]\w*")
FOLDER = Variable("a folder, with ~ or ~name for the home of an account that is there", _folder)
BASE_URL = Variable("an http:// or https:// URL without query and fragment", _base_url)
PAGE_URL = Variable("an http:// or https:// URL without fragment", _page_url)
FILES_URL = Variable(
    "file:// and the absolute path of a folder, s3://bucket/prefix?region=…&endpoint=…, gs://bucket/prefix, or"
    " az://container/prefix?account=…",
    _files_url,
)
EMAIL = Variable("an e-mail address", _email)
SMTP_URL = Variable(
    "smtp://user:password@host:port, with ?starttls=true if wanted, or smtps://…; @ and / in user or password as"
    " %40 and %2F",
    _smtp_url,
    secret=True,
)
SENDER = Variable("an e-mail address, or a name and <the address>", _sender)
PASSWORD = secret(
    f"{PASSWORD_LENGTH[0]} to {PASSWORD_LENGTH[1]} characters",
    Meta(min_length=PASSWORD_LENGTH[0], max_length=PASSWORD_LENGTH[1]),
)
REDIS_URL = Variable(
    f"{_url_words(SERVER_SCHEMES)}, with the number of a database behind the host and the options"
    f" {', '.join(OPTIONS)}, of rediss:// also {', '.join(TLS_OPTIONS)}, such as redis://host:6379/0?socket_timeout=1;"
    " or redis+sentinel://host,host2/master or redis+cluster://host,host2",
    _redis_url,
    secret=True,
)
SECRET_KEY = Variable(f"{SECRET_LENGTH} characters or more of chance (openssl rand -hex 32)", _secret_key, secret=True)
SECRET = secret("text without blanks", Meta(pattern=r"^\S+\Z"))
FILES_SECRET = secret("a secret, or a service account as JSON for gs://", Meta(min_length=1))
IDENTIFIER = Variable("2 to 63 of a-z, 0-9 and -", _identifier)
DOCS_ROOT = matching(
    f"one path segment of a-z, 0-9 and -, other than {', '.join(DOCS_ROOTS_TAKEN)}",
    rf"(?!(?:{'|'.join(DOCS_ROOTS_TAKEN)})\Z)[a-z0-9][a-z0-9-]*",
)
KEY_PREFIX = matching("1 to 63 of a-z, 0-9, -, _ and ., a letter or a digit first", r"[a-z0-9][a-z0-9_.-]{0,62}")
API_KEY_PREFIX = matching("2 to 16 of a-z and 0-9, a letter first", PREFIX)
MODULES = several("importable modules or paths of .py files", TEXT)
REPLICAS = several("postgresql:// URLs, each of one server", secret_url("postgresql", "postgres"))
NETWORKS = several("IP addresses and networks", Variable("a network", _network))
ORIGINS = several("origins such as https://app.example, or *", Variable("an origin", _origin))
PASSKEY_ORIGINS = several(
    "origins such as https://app.example, or android:apk-key-hash:…", Variable("an origin", _passkey_origin)
)
HOSTS = several(
    "host names, or *. and the end of them",
    matching("a host name", r"(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*"),
)
