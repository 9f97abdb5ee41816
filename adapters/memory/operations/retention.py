"""Removal of data past its retention."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adapters.memory.store import Access, Failures, Store
from domain.retention import RetentionRule

Ages = dict[Any, datetime | None]
"""Time that counts for each entry, by its key; None for entries that stay."""


@dataclass(frozen=True)
class MemoryRetention:
    access: Access

    async def claim(self) -> bool:
        # Transactions run one after the other, so no other one can be removing.
        return True

    async def remove(self, rule: RetentionRule, before: datetime, most: int) -> int:
        async with self.access.write() as store:
            entries, ages = _RULES[rule](store)
            old = {key: at for key, at in ages.items() if at is not None and at <= before}
            oldest = sorted(old, key=old.__getitem__)[:most]
            for key in oldest:
                del entries[key]
            return len(oldest)


def _ended_sessions(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.sessions, {key: session.ended_at for key, session in store.sessions.items()}


def _old_sessions(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.sessions, {key: session.created_at for key, session in store.sessions.items()}


def _failures(store: Store) -> tuple[dict[Any, Any], Ages]:
    unknown = {key: failures for key, failures in store.attempts.items() if failures.known_at is None}
    return store.attempts, {key: _last(failures) for key, failures in unknown.items()}


def _networks(store: Store) -> tuple[dict[Any, Any], Ages]:
    known = {key: failures for key, failures in store.attempts.items() if failures.known_at is not None}
    return store.attempts, {key: _last(failures) for key, failures in known.items()}


def _last(failures: Failures) -> datetime | None:
    # The last attempt, or the end of the lock that followed it.
    times = [at for at in (failures.tried_at, failures.locked_until) if at is not None]
    return max(times, default=None)


def _token_versions(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.token_versions, {key: store.ended_counts.get(key) for key in store.token_versions}


def _used_nonces(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.used_nonces, dict(store.used_nonces)


def _links(store: Store) -> tuple[dict[Any, Any], Ages]:
    oldest = min((mail.number for mail in store.outbox.values()), default=None)
    tokens = store.one_time_tokens
    # A waiting mail older than the link would issue its own anew, if the newer one were not known any more.
    free = {key: issued.token for key, issued in tokens.items() if oldest is None or issued.token.number < oldest}
    return tokens, {key: token.expires_at for key, token in free.items()}


def _invitations(store: Store) -> tuple[dict[Any, Any], Ages]:
    ends = {key: invitation.ended_at or invitation.expires_at for key, invitation in store.invitations.items()}
    return store.invitations, dict(ends)


def _former_addresses(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.former_addresses, dict(store.former_addresses)


def _join_requests(store: Store) -> tuple[dict[Any, Any], Ages]:
    ends = {key: request.ended_at or request.created_at for key, request in store.join_requests.items()}
    return store.join_requests, dict(ends)


def _email_changes(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.email_changes, {key: change.expires_at for key, change in store.email_changes.items()}


def _answers(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.answers, {key: response.at for key, response in store.answers.items()}


def _api_keys(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.api_keys, {digest: stored.key.ends_at for digest, stored in store.api_keys.items()}


def _mails(store: Store) -> tuple[dict[Any, Any], Ages]:
    return store.outbox, {key: mail.given_up_at for key, mail in store.outbox.items()}


_RULES: dict[RetentionRule, Callable[[Store], tuple[dict[Any, Any], Ages]]] = {
    RetentionRule.ENDED_SESSIONS: _ended_sessions,
    RetentionRule.OLD_SESSIONS: _old_sessions,
    RetentionRule.FAILURES: _failures,
    RetentionRule.NETWORKS: _networks,
    RetentionRule.VERSIONS: _token_versions,
    RetentionRule.USED_NONCES: _used_nonces,
    RetentionRule.LINKS: _links,
    RetentionRule.INVITATIONS: _invitations,
    RetentionRule.JOIN_REQUESTS: _join_requests,
    RetentionRule.FORMER_ADDRESSES: _former_addresses,
    RetentionRule.EMAIL_CHANGES: _email_changes,
    RetentionRule.ANSWERS: _answers,
    RetentionRule.API_KEYS: _api_keys,
    RetentionRule.MAILS: _mails,
}
