"""Rate limits: the specification's two tables, the verdict on a counted request, and the lock after failed logins.

A limit of one part is stated in that part.
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
    """Answer to a counted request; ``reset`` is the epoch second at which the oldest counted one leaves the window."""

    allowed: bool
    limit: int
    remaining: int
    reset: int
    retry_after: int = 0


class CountedHit(Struct, frozen=True):
    """State of a caller's log of requests after counting; times are microseconds since 1970 or None.

    ``leaver`` is the request that must leave the window before another one is allowed.
    """

    allowed: bool
    length: int
    oldest: int | None
    leaver: int | None = None


def verdict_of(limit: Limit, counted: CountedHit, now: int) -> Verdict:
    """The verdict, with ``retry_after`` in whole seconds."""
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
    # Rounded up, so that a client that waits this long is not refused again.
    return -(-microseconds // 1_000_000)


class Hit(Struct, frozen=True):
    """A request to be counted: its limit, and the caller it counts for.

    Callers are ``user:…``, ``address:…``, ``email:…``, and ``session:…`` for a token that is expired, stale or revoked.
    """

    limit: Limit
    caller: str


@lru_cache(4096)
def network_of(address: str) -> str:
    """The network whose requests are counted together: the /64 of an IPv6 address, an IPv4 address by itself.

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
"""Time in which an address gets one mail with a link of each purpose."""


def over_all_networks(limit: Limit) -> Limit:
    """The limit of an e-mail address over all networks together, which strangers share with its owner."""
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
    "delete-batch": 10,
    "export": 5,
    "import": 5,
    "restore": 50,
}


def endpoint_limit(name: str) -> Limit:
    """The limit of an endpoint that the specification's tables do not list."""
    return Limit(name, 100)


def entity_limit(plural: str, operation: str) -> Limit:
    return Limit(f"{plural}.{operation}", _ENTITY_COUNTS.get(operation, 100))


def tightest(verdicts: tuple[Verdict, ...]) -> Verdict:
    """The verdict to report when several limits counted: a refusal first, then the least remaining."""
    return min(verdicts, key=lambda verdict: (verdict.allowed, verdict.remaining))


FAILURES_FORGOTTEN = timedelta(days=7)
"""Pause after which failed logins, and locks in a row, are counted from zero again; a lock lasts as long as it was set
for."""

LONGEST_LOCK = timedelta(days=1)
"""Bound of what locks in a row grow to; a setting of more is the duration of every lock."""

DOUBLED_AT_MOST = 20
"""Locks in a row after which the duration has surely reached its bound: a minute has become two years."""

NETWORK_FORGOTTEN = timedelta(days=90)
"""Time after its last successful login for which a network of an address is known."""


REAUTHENTICATED = timedelta(minutes=10)
"""Time for which a proof counts as recent, where no setting says otherwise."""


class Lockout(Struct, frozen=True):
    """After ``attempts`` failures in a row from one network, that network is locked out for ``duration``.

    Each further lock in a row lasts twice as long as the one before.
    """

    attempts: int
    duration: timedelta

    @property
    def longest(self) -> timedelta:
        return max(self.duration, LONGEST_LOCK)

    def lasts(self, before: int) -> timedelta:
        """Duration of a lock that ``before`` others in a row went before: 15 minutes, 30, 60, … a day."""
        doubled: int = 2 ** min(before, DOUBLED_AT_MOST)
        return min(self.duration * doubled, self.longest)

    @property
    def attempts_over_all(self) -> int:
        """Failures from all networks together that lock every network without an earlier successful login."""
        return 10 * self.attempts
