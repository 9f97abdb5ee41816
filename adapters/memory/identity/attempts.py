"""Failed logins, by address and network, and over all networks together."""

from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from adapters.memory.store import Access, Failures, Store
from domain.identity.users import FAILURES_FORGOTTEN, Lockout

ALL_NETWORKS = None
"""Stands in the place of a network for what is counted over all of them."""


@dataclass(frozen=True)
class MemoryAttempts:
    access: Access

    async def reserve(self, email_key: str, network: str, lockout: Lockout, now: datetime) -> bool:
        async with self.access.write() as store:
            own = store.attempts.get((email_key, network), Failures())
            over_all = store.attempts.get((email_key, ALL_NETWORKS), Failures())
            if _is_locked(own, now) or (own.known_since is None and _is_locked(over_all, now)):
                return False
            store.attempts[email_key, network] = _counted(own, lockout.attempts, lockout, now)
            store.attempts[email_key, ALL_NETWORKS] = _counted(over_all, lockout.attempts_over_all, lockout, now)
            return True

    async def release(self, email_key: str, network: str) -> None:
        async with self.access.write() as store:
            for place in (network, ALL_NETWORKS):
                _give_back(store, email_key, place, 1)

    async def forgive(self, email_key: str, network: str, now: datetime) -> None:
        async with self.access.write() as store:
            forgive(store, email_key, network, now)

    async def unlock(self, email_key: str) -> None:
        async with self.access.write() as store:
            for (key, place), one in list(store.attempts.items()):
                if key == email_key:
                    store.attempts[key, place] = Failures(known_since=one.known_since, tried_at=one.tried_at)

    async def locked_until(self, email_key: str, now: datetime) -> datetime | None:
        attempts = self.access.read().attempts.items()
        ends = [one.locked_until for (key, _), one in attempts if key == email_key and one.locked_until]
        return max((end for end in ends if end > now), default=None)


def _is_locked(failures: Failures, now: datetime) -> bool:
    return failures.locked_until is not None and failures.locked_until > now


def _counted(failures: Failures, limit: int, lockout: Lockout, now: datetime) -> Failures:
    """One more; what has ended by time begins anew, a lock that stands stays as it is."""
    if _is_locked(failures, now):
        return replace(failures, count=failures.count + 1, tried_at=now)
    is_forgotten = failures.tried_at is not None and failures.tried_at <= now - FAILURES_FORGOTTEN
    count = 1 if failures.locked_until or is_forgotten else failures.count + 1
    until = now + lockout.duration if count >= limit else None
    return replace(failures, count=count, limit=limit, locked_until=until, tried_at=now)


def forgive(store: Store, email_key: str, network: str, now: datetime) -> None:
    own = store.attempts.get((email_key, network), Failures())
    _give_back(store, email_key, ALL_NETWORKS, own.count)
    store.attempts[email_key, network] = Failures(known_since=own.known_since or now, tried_at=own.tried_at or now)


def _give_back(store: Store, email_key: str, place: str | None, given: int) -> None:
    failures = store.attempts.get((email_key, place))
    if failures is None:
        return
    count = max(0, failures.count - given)
    until = failures.locked_until if count >= failures.limit else None
    store.attempts[email_key, place] = replace(failures, count=count, locked_until=until)
