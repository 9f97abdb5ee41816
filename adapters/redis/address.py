"""Addresses of Redis: a server, a master behind sentinels, or a cluster."""

from collections.abc import Callable, Mapping
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

SERVER_SCHEMES = ("redis", "rediss", "unix")
GROUP_SCHEMES = ("redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")

Kind = Literal["server", "sentinel", "cluster"]
_PORTS: dict[Kind, int] = {"server": 6379, "sentinel": 26379, "cluster": 6379}


def _seconds(text: str) -> None:
    ensure(float(text) > 0)


def _number(text: str) -> None:
    ensure(text.isdecimal())


def _text(text: str) -> None:
    ensure(bool(text))


def _switch(text: str) -> None:
    ensure(text.lower() in ("true", "false", "yes", "no", "1", "0"))


def _verification(text: str) -> None:
    ensure(text in ("none", "optional", "required"))


OPTIONS: Mapping[str, Callable[[str], None]] = {
    "db": _number,
    "socket_timeout": _seconds,
    "socket_connect_timeout": _seconds,
    "socket_keepalive": _switch,
    "health_check_interval": _number,
    "client_name": _text,
    "username": _text,
    "password": _text,
}
"""Supported redis-py options in a server's URL; each function raises ValueError."""
TLS_OPTIONS: Mapping[str, Callable[[str], None]] = {
    "ssl_ca_certs": _text,
    "ssl_ca_path": _text,
    "ssl_certfile": _text,
    "ssl_keyfile": _text,
    "ssl_password": _text,
    "ssl_cert_reqs": _verification,
    "ssl_check_hostname": _switch,
}


class RedisAddress(Struct, frozen=True, kw_only=True):
    """Address of a Redis server, a master behind sentinels, or a cluster.

    ``hosts`` are the sentinels, or some nodes of the cluster; a single server needs only ``url``. ``user`` and
    ``password`` are for the data servers, ``sentinel_user`` and ``sentinel_password`` for the sentinels.
    """

    kind: Kind
    url: str
    hosts: tuple[tuple[str, int], ...] = ()
    tls: bool = False
    user: str | None = None
    password: str | None = None
    master: str = ""
    database: int = 0
    sentinel_user: str | None = None
    sentinel_password: str | None = None


def read_address(text: str) -> RedisAddress:
    """Parse a Redis address. Raises ValueError.

    redis-py reads ``redis://…``, ``rediss://…`` and ``unix://…``. Further forms:
    ``redis+sentinel://user:password@host:26379,host2:26379/name-of-the-master/database?sentinel_password=…``
    ``redis+cluster://user:password@host:6379,host2:6379``; ``rediss+…`` for TLS.
    """
    scheme, _, rest = text.partition("://")
    if scheme in SERVER_SCHEMES:
        parts = urlsplit(text)
        _ensure_server(parts)
        host = ((parts.hostname, parts.port or _PORTS["server"]),) if parts.hostname else ()
        return RedisAddress(kind="server", url=text, hosts=host, tls=scheme == "rediss")
    ensure(scheme in GROUP_SCHEMES)
    transport, kind = scheme.split("+")
    before, _, query = rest.partition("?")
    authority, _, path = before.partition("/")
    credentials, _, hosts = authority.rpartition("@")
    user, _, password = credentials.partition(":")
    found = RedisAddress(
        kind="cluster" if kind == "cluster" else "sentinel",
        url=text,
        tls=transport == "rediss",
        user=unquote(user) or None,
        password=unquote(password) or None,
    )
    found = replace(found, hosts=tuple(_host(part, found.kind) for part in hosts.split(",")))
    if found.kind == "sentinel":
        return _of_sentinels(found, path, query)
    ensure(not path.strip("/") and not query)  # a cluster has only database 0
    return found


def _ensure_server(parts: SplitResult) -> None:
    """Raise ValueError for parts that redis-py would ignore or fail on later."""
    number = parts.path.strip("/") if parts.scheme != "unix" else ""
    ensure(not parts.fragment and (number or "0").isdecimal())
    known = {**OPTIONS, **(TLS_OPTIONS if parts.scheme == "rediss" else {})}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        ensure(name in known)
        known[name](value)


def _of_sentinels(found: RedisAddress, path: str, query: str) -> RedisAddress:
    master, _, database = path.partition("/")
    options = dict(parse_qsl(query, strict_parsing=True)) if query else {}
    ensure(bool(master) and (database or "0").isdecimal())
    ensure(not options.keys() - {"sentinel_user", "sentinel_password"})
    return replace(found, master=unquote(master), database=int(database or "0"), **options)


def _host(text: str, kind: Kind) -> tuple[str, int]:
    # URLs require brackets around IPv6 addresses.
    parts = urlsplit(f"//{text}")
    ensure(not parts.path and parts.username is None)
    ensure(parts.hostname is not None)
    return parts.hostname or "", parts.port or _PORTS[kind]


def ensure(holds: bool) -> None:
    if not holds:
        raise ValueError
