"""How one environment variable is read: what it takes, in words, and the function that takes it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import SplitResult, urlsplit

from adapters.mail.smtp_url import read_smtp_url
from domain.identity.tenants import is_identifier
from domain.identity.users import PASSWORD_LENGTH, email_key

T = TypeVar("T")
C = TypeVar("C", bound=str)

Network = IPv4Network | IPv6Network

SECRET_LENGTH = 32
DOCS_ROOTS_TAKEN = ("api", "health", "metrics", "account")
_TRUE = ("true", "on", "yes", "1")
_FALSE = ("false", "off", "no", "0")
_HOST = re.compile(r"[A-Za-z0-9.:_-]+")
_KEY_PREFIX = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")
_DOCS_ROOT = re.compile(r"[a-z0-9][a-z0-9-]*")


class Secret:
    """A value that is never shown: only ``reveal`` gives it, and nothing that prints calls that."""

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


@dataclass(frozen=True)
class Variable(Generic[T]):
    """``read`` raises ValueError for what the variable does not take; ``secret`` values are not repeated."""

    takes: str
    read: Callable[[str], T]
    secret: bool = False


def number(lowest: int, highest: int) -> Variable[int]:
    def read(text: str) -> int:
        ensure(text.isascii() and text.isdigit() and len(text) <= 12 and lowest <= int(text) <= highest)
        return int(text)

    return Variable(f"a whole number from {lowest} to {highest}", read)


def one_of(*choices: str) -> Variable[str]:
    def read(text: str) -> str:
        ensure(text.lower() in choices)
        return text.lower()

    return Variable(f"one of: {', '.join(choices)}", read)


def url(*schemes: str) -> Variable[str]:
    return Variable(_url_words(schemes), lambda text: _url(text, schemes).geturl())


def secret_url(*schemes: str) -> Variable[Secret]:
    def read(text: str) -> Secret:
        parts = _url(text, schemes)
        ensure(bool(parts.hostname or parts.query or parts.path.strip("/")))
        return Secret(text)

    return Variable(_url_words(schemes), read, secret=True)


def ensure(holds: bool) -> None:
    if not holds:
        raise ValueError


def _url_words(schemes: tuple[str, ...]) -> str:
    return "a URL that begins with " + " or ".join(f"{scheme}://" for scheme in schemes)


def _url(text: str, schemes: tuple[str, ...]) -> SplitResult:
    """Asking for the port checks it."""
    parts = urlsplit(text)
    ensure(parts.scheme in schemes and "://" in text and (parts.port or 1) > 0 and not _has_blank(text))
    return parts


def _has_blank(text: str) -> bool:
    return any(char.isspace() for char in text)


def _flag(text: str) -> bool:
    ensure(text.lower() in _TRUE + _FALSE)
    return text.lower() in _TRUE


def _host(text: str) -> str:
    ensure(_HOST.fullmatch(text) is not None)
    return text


def _base_url(text: str) -> str:
    parts = _url(text, ("http", "https"))
    ensure(bool(parts.hostname) and not parts.query and not parts.fragment and parts.username is None)
    return text.rstrip("/")


def _page_url(text: str) -> str:
    ensure(bool(_url(text, ("http", "https")).hostname) and "#" not in text)
    return text


def _smtp_url(text: str) -> Secret:
    ensure(not _has_blank(text))
    read_smtp_url(text)
    return Secret(text)


def _email(text: str) -> str:
    ensure(email_key(text) is not None)
    return text


def _sender(text: str) -> str:
    """An address, or ``Name <address>``."""
    named = re.fullmatch(r"[^<>\r\n]*<([^<>]+)>", text)
    _email(named[1] if named else text)
    return text


def _password(text: str) -> Secret:
    shortest, longest = PASSWORD_LENGTH
    ensure(shortest <= len(text) <= longest)
    return Secret(text)


def _secret_key(text: str) -> Secret:
    ensure(len(text) >= SECRET_LENGTH)
    return Secret(text)


def _secret(text: str) -> Secret:
    ensure(not _has_blank(text))
    return Secret(text)


def _identifier(text: str) -> str:
    ensure(is_identifier(text))
    return text


def _key_prefix(text: str) -> str:
    ensure(_KEY_PREFIX.fullmatch(text) is not None)
    return text


def _docs_root(text: str) -> str:
    ensure(_DOCS_ROOT.fullmatch(text) is not None and text not in DOCS_ROOTS_TAKEN)
    return text


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    ensure(bool(names))
    return names


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ip_network(name, strict=False) for name in _names(text))


def _origins(text: str) -> tuple[str, ...]:
    """``*``, or schemes with hosts as browsers send them: ``https://app.example:8443``."""
    names = _names(text)
    for name in names:
        parts = urlsplit(name)
        is_origin = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        ensure(name == "*" or (is_origin and name == f"{parts.scheme}://{parts.netloc}" and parts.username is None))
    return names


def _hosts(text: str) -> tuple[str, ...]:
    """Host names; ``*.example.com`` stands for all names under it."""
    names = _names(text)
    ensure(all(_HOST.fullmatch(name.removeprefix("*.")) is not None for name in names))
    return names


FLAG = Variable("true or false", _flag)
SWITCH = Variable("on or off", _flag)
TEXT = Variable("text", str)
HOST = Variable("a host name or an address", _host)
FOLDER = Variable("a folder", lambda text: Path(text).expanduser())
BASE_URL = Variable("an http:// or https:// URL without query and fragment", _base_url)
PAGE_URL = Variable("an http:// or https:// URL without fragment", _page_url)
EMAIL = Variable("an e-mail address", _email)
SMTP_URL = Variable(
    "smtp://user:password@host:port, with ?starttls=true if wanted, or smtps://…", _smtp_url, secret=True
)
SENDER = Variable("an e-mail address, or a name and <the address>", _sender)
PASSWORD = Variable(f"{PASSWORD_LENGTH[0]} to {PASSWORD_LENGTH[1]} characters", _password, secret=True)
SECRET_KEY = Variable(f"{SECRET_LENGTH} characters or more", _secret_key, secret=True)
SECRET = Variable("text without blanks", _secret, secret=True)
IDENTIFIER = Variable("2 to 63 of a-z, 0-9 and -", _identifier)
DOCS_ROOT = Variable(f"one path segment of a-z, 0-9 and -, other than {', '.join(DOCS_ROOTS_TAKEN)}", _docs_root)
KEY_PREFIX = Variable("1 to 63 of a-z, 0-9, -, _ and ., a letter or a digit first", _key_prefix)
MODULES = Variable("importable modules or paths of .py files, separated by commas", _names)
NETWORKS = Variable("IP addresses and networks, separated by commas", _networks)
ORIGINS = Variable("origins such as https://app.example, separated by commas, or *", _origins)
HOSTS = Variable("host names, separated by commas; *.example.com for all names under one", _hosts)
