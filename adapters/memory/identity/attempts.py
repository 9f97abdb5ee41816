"""Failed logins by address and network, and over all networks together."""

from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from adapters.memory.identity.state import Failures
from adapters.memory.store import Access, Store
from domain.lockout import FAILURES_FORGOTTEN, NETWORK_FORGOTTEN, Lockout

ALL_NETWORKS = None
"""Key for counts over all networks."""


@dataclass(frozen=True)
class MemoryAttempts:
    access: Access

    async def reserve(self, email_key: str, network: str, lockout: Lockout, now: datetime) -> bool:
        async with self.access.write() as store:
            own = store.attempts.get((email_key, network), Failures())
            over_all = store.attempts.get((email_key, ALL_NETWORKS), Failures())
            # Security: failures elsewhere do not lock a network with a successful login, so an attacker cannot lock the
            # owner out.
            if _is_locked(own, now) or (not is_known(own, now) and _is_locked(over_all, now)):
                return False
            store.attempts[email_key, network] = _counted(own, lockout.attempts, lockout, now)
            store.attempts[email_key, ALL_NETWORKS] = _counted(over_all, lockout.attempts_over_all, lockout, now)
            return True

    async def release(self, email_key: str, network: str) -> None:
        async with self.access.write() as store:
            for counted_for in (network, ALL_NETWORKS):
                _give_back(store, email_key, counted_for, 1)

    async def forgive(self, email_key: str, network: str, now: datetime) -> None:
        async with self.access.write() as store:
            forgive(store, email_key, network, now)

    async def unlock(self, email_key: str) -> None:
        async with self.access.write() as store:
            for (key, network), failures in list(store.attempts.items()):
                if key == email_key:
                    store.attempts[key, network] = Failures(known_at=failures.known_at, tried_at=failures.tried_at)

    async def is_known(self, email_key: str, network: str, now: datetime) -> bool:
        return is_known(self.access.read().attempts.get((email_key, network), Failures()), now)

    async def locked_until(self, email_key: str, now: datetime) -> datetime | None:
        attempts = self.access.read().attempts.items()
        ends = [failures.locked_until for (key, _), failures in attempts if key == email_key and failures.locked_until]
        return max((end for end in ends if end > now), default=None)


def is_known(failures: Failures, now: datetime) -> bool:
    return failures.known_at is not None and failures.known_at > now - NETWORK_FORGOTTEN


def _is_locked(failures: Failures, now: datetime) -> bool:
    return failures.locked_until is not None and failures.locked_until > now


def _counted(failures: Failures, limit: int, lockout: Lockout, now: datetime) -> Failures:
    # Attempts during a lock count but do not extend it.
    if _is_locked(failures, now):
        return replace(failures, count=failures.count + 1, tried_at=now)
    # An expired lock or pause restarts the count.
    count = 1 if failures.locked_until or _is_forgotten(failures.tried_at, now) else failures.count + 1
    last = failures.tried_at if failures.locked_until is None else max(failures.locked_until, failures.tried_at or now)
    before = 0 if _is_forgotten(last, now) else failures.locks
    locks = count >= limit
    until = now + lockout.lasts(before) if locks else None
    return replace(failures, count=count, limit=limit, locks=before + locks, locked_until=until, tried_at=now)


def _is_forgotten(last: datetime | None, now: datetime) -> bool:
    return last is not None and last <= now - FAILURES_FORGOTTEN


def forgive(store: Store, email_key: str, network: str, now: datetime) -> None:
    """Reset the network's count, also in the total, within a statement of another adapter."""
    own = store.attempts.get((email_key, network), Failures())
    _give_back(store, email_key, ALL_NETWORKS, own.count)
    store.attempts[email_key, network] = Failures(known_at=now, tried_at=own.tried_at or now)


def _give_back(store: Store, email_key: str, network: str | None, given: int) -> None:
    failures = store.attempts.get((email_key, network))
    if failures is None:
        return
    count = max(0, failures.count - given)
    if failures.locked_until is None or count >= failures.limit:
        store.attempts[email_key, network] = replace(failures, count=count)
        return
    # a refunded lock does not count
    locks = max(0, failures.locks - 1)
    store.attempts[email_key, network] = replace(failures, count=count, locks=locks, locked_until=None)
