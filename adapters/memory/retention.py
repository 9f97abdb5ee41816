"""What is kept only for a while, taken away by its age."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adapters.memory.store import Access, Failures, Store
from domain.retention import RetentionRule

Ages = dict[Any, datetime | None]
"""The time that counts for each entry, by its key; None for what stays."""


@dataclass(frozen=True)
class MemoryRetention:
    access: Access

    async def claim(self) -> bool:
        """Transactions are serial here."""
        return True

    async def remove(self, what: RetentionRule, before: datetime, most: int) -> int:
        async with self.access.write() as store:
            entries, ages = _KINDS[what](store)
            old = {key: at for key, at in ages.items() if at is not None and at <= before}
            gone = sorted(old, key=old.__getitem__)[:most]
            for key in gone:
                del entries[key]
            return len(gone)


def _ended_sessions(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.sessions, {key: one.ended_at for key, one in store.sessions.items()}


def _old_sessions(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.sessions, {key: one.created_at for key, one in store.sessions.items()}


def _failures(store: Store) -> tuple[dict[Any, Any], Ages]:
    strange = {key: one for key, one in store.attempts.items() if one.known_since is None}
    return store.attempts, {key: _last(one) for key, one in strange.items()}


def _networks(store: Store) -> tuple[dict[Any, Any], Ages]:
    known = {key: one for key, one in store.attempts.items() if one.known_since is not None}
    return store.attempts, {key: _last(one) for key, one in known.items()}


def _last(failures: Failures) -> datetime | None:
    """The last try, or the end of the lock that came of it."""
    times = [at for at in (failures.tried_at, failures.locked_until) if at is not None]
    return max(times, default=None)


def _counts(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.token_versions, {key: store.ended_counts.get(key) for key in store.token_versions}


def _spent_ids(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.spent_ids, dict(store.spent_ids)


def _links(store: Store) -> tuple[dict[Any, Any], Ages]:
    oldest = min((one.number for one in store.outbox.values()), default=None)
    kept = store.one_time_tokens
    free = {key: one.token for key, one in kept.items() if oldest is None or one.token.number < oldest}
    return kept, {key: one.expires_at for key, one in free.items()}


def _answers(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.answers, {key: one.at for key, one in store.answers.items()}


def _mails(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.outbox, {key: one.given_up_at for key, one in store.outbox.items()}


_KINDS: dict[RetentionRule, Callable[[Store], tuple[dict[Any, Any], Ages]]] = {
    RetentionRule.ENDED_SESSIONS: _ended_sessions,
    RetentionRule.OLD_SESSIONS: _old_sessions,
    RetentionRule.FAILURES: _failures,
    RetentionRule.NETWORKS: _networks,
    RetentionRule.COUNTS: _counts,
    RetentionRule.SPENT_IDS: _spent_ids,
    RetentionRule.LINKS: _links,
    RetentionRule.ANSWERS: _answers,
    RetentionRule.MAILS: _mails,
}
