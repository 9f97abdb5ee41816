"""Rate limits and token versions of one process, used without Redis and as the fallback while Redis is unavailable."""

import itertools
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from application.ports.runtime import Clock
from application.ports.shared_memory import Admission, KnownVersions, PresentedToken
from domain.errors import Error, SerializationConflict, ServiceUnavailable
from domain.limits import MICROSECOND, CountedHit, Hit, Limit, Verdict, verdict_of

MOST_REQUESTS = 500_000
MOST_SUBJECTS = 100_000

# More than a request adds, and few enough to avoid delays.
DROPPED_AT_ONCE = 10
"""Maximum number of expired callers that one request removes per window."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# A subject during a change. ``highest`` is the highest known version. It is uncertain if all marks of the subject's
# changes were lost, because other changes may have raised the version before.
class _Pending:
    def __init__(self, highest: int | None) -> None:
        self.highest = highest
        self.is_certain = highest is not None
        self.nonces: set[int] = set()


class MemoryAdmissions:
    """Rate limits and versions in bounded memory.

    Each request removes some callers without requests in their window. Beyond ``most_requests``, it removes the least
    recently seen callers; beyond ``most_subjects``, all versions.
    """

    def __init__(self, clock: Clock, *, most_requests: int = MOST_REQUESTS, most_subjects: int = MOST_SUBJECTS) -> None:
        self._clock = clock
        self._most_requests = most_requests
        self._most_subjects = most_subjects
        # Group the callers by window: otherwise callers with a long window would block the removal of those with a
        # short window. Use lists: a deque would need 600 bytes for a single request.
        self._requests: dict[timedelta, OrderedDict[tuple[str, str], list[int]]] = {}
        self._request_count = 0
        self._values: dict[str, int | _Pending] = {}
        self._nonces = itertools.count()
        self._epoch = secrets.token_hex(8)

    async def admit(self, hits: Sequence[Hit], presented: PresentedToken | None) -> Admission:
        if presented is None:
            return Admission(self._verdicts(hits), {})
        is_dead = any(self._has_risen(subject, count) for subject, count in presented.issued.items())
        verdicts = self._verdicts(presented.instead if is_dead else hits)
        return Admission(verdicts, *self._versions(tuple(presented.issued)), is_dead)

    async def alive(self, issued: Sequence[Mapping[str, int]]) -> KnownVersions:
        values = {subject: self._values.get(subject) for versions in issued for subject in versions}
        is_pending = any(isinstance(value, _Pending) for value in values.values())
        known = {subject: value for subject, value in values.items() if isinstance(value, int)}
        return KnownVersions(known, None if is_pending else self._epoch)

    async def recount(self, counted: Sequence[Hit], instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        for hit in counted:
            logs, key = self._logs(hit), (hit.limit.name, hit.caller)
            if log := logs.get(key):
                # Other requests may have been counted since. To remove the newest entry in place of this one gives the
                # same length.
                log.pop()
                self._request_count -= 1
                if not log:
                    del logs[key]
        return self._verdicts(instead)

    async def remember(self, versions: Mapping[str, int], ticket: str) -> None:
        if ticket != self._epoch:
            return
        for subject, version in versions.items():
            self._values.setdefault(subject, version)
        if len(self._values) > self._most_subjects:
            self.forget()

    @asynccontextmanager
    async def publishing(self, subjects: Sequence[str]) -> AsyncIterator[dict[str, int]]:
        nonce = next(self._nonces)
        for subject in subjects:
            self._pending(subject).nonces.add(nonce)
        versions: dict[str, int] = {}
        try:
            yield versions
        except SerializationConflict:  # rolled back, and retried under a new mark
            self._publish(nonce, subjects, {})
            raise
        # The commit is uncertain: subjects stay pending, and readers ask the database.
        except ServiceUnavailable:
            raise
        # Any other domain error means that the transaction rolled back, so the old versions are valid.
        except Error:
            self._publish(nonce, subjects, {})
            raise
        else:
            self._publish(nonce, subjects, versions)

    async def is_shared(self) -> bool:
        """Return True, because this memory has only one process."""
        return True

    def forget(self) -> None:
        """Forget all versions, as a restart of Redis does."""
        self._values.clear()
        self._epoch = secrets.token_hex(8)

    def _verdicts(self, hits: Sequence[Hit]) -> tuple[Verdict, ...]:
        now = (self._clock.now() - _EPOCH) // MICROSECOND
        self._drop_ended(now)
        keys = [(hit.limit.name, hit.caller) for hit in hits]
        logs = {key: self._log(hit, now) for key, hit in zip(keys, hits, strict=True)}
        # Check all limits before counting: a request refused by one limit does not count for any limit.
        allowed = [len(logs[key]) + keys[:at].count(key) < hits[at].limit.count for at, key in enumerate(keys)]
        if all(allowed):
            for key, hit in zip(keys, hits, strict=True):
                logs[key].append(now)
                self._logs(hit)[key] = logs[key]
            self._request_count += len(keys)
            self._forget_callers()
        return tuple(
            verdict_of(hit.limit, _counted(hit.limit, logs[key], fits), now)
            for hit, key, fits in zip(hits, keys, allowed, strict=True)
        )

    def _logs(self, hit: Hit) -> OrderedDict[tuple[str, str], list[int]]:
        return self._requests.setdefault(hit.limit.window, OrderedDict())

    def _log(self, hit: Hit, now: int) -> list[int]:
        logs, key = self._logs(hit), (hit.limit.name, hit.caller)
        log = logs.get(key)
        if log is None:
            return []
        window = hit.limit.window // MICROSECOND
        # Entries in the future were counted before somebody set the clock back.
        left = next((at for at, moment in enumerate(log) if moment <= now < moment + window), len(log))
        del log[:left]
        self._request_count -= left
        if log:
            logs.move_to_end(key)  # ordered by last use
        else:
            del logs[key]
        return log

    def _drop_ended(self, now: int) -> None:
        for window, logs in self._requests.items():
            for log in [*itertools.islice(logs.values(), DROPPED_AT_ONCE)]:
                if log[-1] <= now < log[-1] + window // MICROSECOND:
                    break
                logs.popitem(last=False)
                self._request_count -= len(log)

    def _forget_callers(self) -> None:
        while self._request_count > self._most_requests and sum(map(len, self._requests.values())) > 1:
            # The first entry of each window has been unused for longest.
            longest = min(filter(None, self._requests.values()), key=lambda logs: next(iter(logs.values()))[-1])
            _, log = longest.popitem(last=False)
            self._request_count -= len(log)

    def _has_risen(self, subject: str, count: int) -> bool:
        value = self._values.get(subject)
        return isinstance(value, int) and value > count

    def _versions(self, subjects: Sequence[str]) -> tuple[dict[str, int] | None, str | None]:
        values = {subject: self._values.get(subject) for subject in subjects}
        if any(isinstance(value, _Pending) for value in values.values()):
            return None, None
        known = {subject: value for subject, value in values.items() if isinstance(value, int)}
        return (known, None) if len(known) == len(values) else (None, self._epoch)

    def _pending(self, subject: str) -> _Pending:
        value = self._values.get(subject)
        if not isinstance(value, _Pending):
            value = self._values[subject] = _Pending(value)
        return value

    def _publish(self, nonce: int, subjects: Sequence[str], versions: Mapping[str, int]) -> None:
        for subject in subjects:
            value, new = self._values.get(subject), versions.get(subject)
            mine = isinstance(value, _Pending) and nonce in value.nonces
            if new is not None and not mine:
                # The mark was lost, so concurrent readers may have cached old data. A new epoch invalidates it.
                self._epoch = secrets.token_hex(8)
            if isinstance(value, _Pending):
                self._publish_subject(subject, value, nonce, new)
            elif value is not None and new is not None:
                self._values[subject] = max(value, new)

    def _publish_subject(self, subject: str, value: _Pending, nonce: int, new: int | None) -> None:
        if new is not None:
            value.highest = max(new, value.highest or 0)
            value.is_certain = value.is_certain or nonce in value.nonces
        value.nonces.discard(nonce)
        if value.nonces:
            return
        if value.highest is not None and value.is_certain:
            self._values[subject] = value.highest
        else:
            del self._values[subject]


def _counted(limit: Limit, log: list[int], allowed: bool) -> CountedHit:
    leaver = None if allowed or not log else log[max(0, len(log) - limit.count)]
    return CountedHit(allowed, len(log), log[0] if log else None, leaver)
