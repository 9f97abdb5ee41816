"""Rate limits: the specification's two tables and verdicts.

Each part of the service defines additional limits in its module.
"""

from datetime import timedelta
from functools import lru_cache
from ipaddress import ip_address, ip_network

from msgspec import Struct

MINUTE = timedelta(minutes=1)
MICROSECOND = timedelta(microseconds=1)


class Limit(Struct, frozen=True):
    """At most ``count`` requests in any ``window``, counted per caller under ``name``."""

    name: str
    count: int
    window: timedelta = MINUTE


class Verdict(Struct, frozen=True):
    """Verdict on a counted request; ``reset`` is the epoch second at which the oldest request leaves the window."""

    allowed: bool
    limit: int
    remaining: int
    reset: int
    retry_after: int = 0


class CountedHit(Struct, frozen=True):
    """A caller's request log after counting a request; times are microseconds since 1970, or None.

    ``leaver`` is the time of the request that must leave the window before the service allows another request.
    """

    allowed: bool
    length: int
    oldest: int | None
    leaver: int | None = None


def verdict_of(limit: Limit, counted: CountedHit, now: int) -> Verdict:
    """Return the verdict, with ``retry_after`` in whole seconds."""
    window = limit.window // MICROSECOND
    oldest = now if counted.oldest is None else counted.oldest
    wait = 0 if counted.allowed else (now if counted.leaver is None else counted.leaver) + window - now
    return Verdict(
        allowed=counted.allowed,
        limit=limit.count,
        remaining=max(0, limit.count - counted.length),
        reset=_seconds(oldest + window),
        retry_after=0 if counted.allowed else max(1, _seconds(wait)),
    )


def _seconds(microseconds: int) -> int:
    # Round up, so that the service accepts a client after the wait.
    return -(-microseconds // 1_000_000)


class Hit(Struct, frozen=True):
    """A request to count: its limit and caller.

    Callers are ``user:…``, ``address:…``, ``email:…``, and ``session:…`` for an expired, stale or revoked token.
    """

    limit: Limit
    caller: str


@lru_cache(4096)
def network_of(address: str) -> str:
    """Return the network for counting requests: the /64 of an IPv6 address, or a single IPv4 address.

    An IPv4-mapped IPv6 address counts as its IPv4 address.
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ip_network((ip, 64), strict=False))


NETWORKS_TOGETHER = 10
LINKS_APART = timedelta(minutes=5)
"""Minimum time between two link mails of one purpose to an address."""


def over_all_networks(limit: Limit) -> Limit:
    """Return the limit of an e-mail address over all networks; its owner and attackers share the limit."""
    return Limit(limit.name, NETWORKS_TOGETHER * limit.count, limit.window)


LOGIN = Limit("login", 10)
REGISTER = Limit("register", 5)
RESET = Limit("request-password-reset", 3)

_ENTITY_COUNTS = {
    "create": 100,
    "update": 100,
    "delete": 50,
    "page": 500,
    "read": 1000,
    "create-batch": 10,
    "update-batch": 10,
    "upsert-batch": 10,
    "delete-batch": 10,
    "export": 5,
    "import": 5,
    "restore": 50,
    "summary": 60,
}


def endpoint_limit(name: str) -> Limit:
    """Return the limit of an endpoint outside the specification's tables."""
    return Limit(name, 100)


def entity_limit(plural: str, operation: str) -> Limit:
    return Limit(f"{plural}.{operation}", _ENTITY_COUNTS.get(operation, 100))


def tightest(verdicts: tuple[Verdict, ...]) -> Verdict:
    """Return the verdict to report if several limits counted: a refusal first, then the least remaining."""
    if len(verdicts) == 1:
        return verdicts[0]
    return min(verdicts, key=lambda verdict: (verdict.allowed, verdict.remaining))


REAUTHENTICATED = timedelta(minutes=10)
"""Default time for which a proof is recent."""
