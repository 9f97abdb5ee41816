"""Limits and revocation counts of one process: the whole truth of a memory world, the fallback of Redis."""

import itertools
import secrets
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from application.ports.admissions import Admission, ShownToken
from application.ports.clock import Clock
from domain.errors import Error, ServiceUnavailable
from domain.limits import MICROSECOND, CountedHit, Hit, Limit, Verdict, verdict_of

MOST_REQUESTS = 500_000
MOST_SUBJECTS = 100_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Unsettled:
    """A subject between the beginning and the end of a change; ``highest`` is the highest number heard of.

    ``is_certain`` is false where it only comes from changes whose marks were forgotten: others may have gone higher
    before that.
    """

    def __init__(self, highest: int | None) -> None:
        self.highest = highest
        self.is_certain = highest is not None
        self.nonces: set[int] = set()


class MemoryAdmissions:
    """Bounded: past so many requests the callers not seen for longest are forgotten, past so many subjects those."""

    def __init__(self, clock: Clock, *, most_requests: int = MOST_REQUESTS, most_subjects: int = MOST_SUBJECTS) -> None:
        self._clock = clock
        self._most_requests = most_requests
        self._most_subjects = most_subjects
        self._logs: dict[tuple[str, str], deque[int]] = {}
        self._length = 0
        self._values: dict[str, int | _Unsettled] = {}
        self._nonces = itertools.count()
        self._epoch = secrets.token_hex(8)

    async def admit(self, hits: Sequence[Hit], shown: ShownToken | None) -> Admission:
        if shown is None:
            return Admission(self._verdicts(hits), {})
        is_dead = any(self._has_risen(subject, count) for subject, count in shown.issued.items())
        verdicts = self._verdicts(shown.instead if is_dead else hits)
        return Admission(verdicts, *self._counts(tuple(shown.issued)), is_dead)

    async def recount(self, counted: Sequence[Hit], instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        for hit in counted:
            if log := self._logs.get((hit.limit.name, hit.caller)):
                log.pop()
                self._length -= 1
        return self._verdicts(instead)

    async def remember(self, counts: Mapping[str, int], ticket: str) -> None:
        if ticket != self._epoch:
            return
        for subject, count in counts.items():
            self._values.setdefault(subject, count)
        if len(self._values) > self._most_subjects:
            self.forget()

    @asynccontextmanager
    async def publishing(self, subjects: Sequence[str]) -> AsyncIterator[dict[str, int]]:
        """Only an error that says that nothing was changed takes the mark back."""
        nonce = next(self._nonces)
        for subject in subjects:
            self._unsettled(subject).nonces.add(nonce)
        counts: dict[str, int] = {}
        try:
            yield counts
        except ServiceUnavailable:
            raise
        except Error:
            self._settle(nonce, subjects, counts)
            raise
        else:
            self._settle(nonce, subjects, counts)

    async def is_shared(self) -> bool:
        """There is no other process to share with."""
        return True

    def forget(self) -> None:
        """All counts are unknown again, as after a restart."""
        self._values.clear()
        self._epoch = secrets.token_hex(8)

    def _verdicts(self, hits: Sequence[Hit]) -> tuple[Verdict, ...]:
        now = (self._clock.now() - _EPOCH) // MICROSECOND
        keys = [(hit.limit.name, hit.caller) for hit in hits]
        logs = {key: self._log(hit, now) for key, hit in zip(keys, hits, strict=True)}
        allowed = [len(logs[key]) + keys[:at].count(key) < hits[at].limit.count for at, key in enumerate(keys)]
        if all(allowed):
            for key in keys:
                logs[key].append(now)
                self._logs[key] = logs[key]
            self._length += len(keys)
            self._forget_callers()
        return tuple(
            verdict_of(hit.limit, _counted(hit.limit, logs[key], fits), now)
            for hit, key, fits in zip(hits, keys, allowed, strict=True)
        )

    def _log(self, hit: Hit, now: int) -> deque[int]:
        """What is left in the window; taken out and put back, so that the callers stand in the order last seen."""
        key = (hit.limit.name, hit.caller)
        log = self._logs.pop(key, None) or deque()
        window = hit.limit.window // MICROSECOND
        while log and log[0] + window <= now:
            log.popleft()
            self._length -= 1
        if log:
            self._logs[key] = log
        return log

    def _forget_callers(self) -> None:
        while self._length > self._most_requests and len(self._logs) > 1:
            self._length -= len(self._logs.pop(next(iter(self._logs))))

    def _has_risen(self, subject: str, count: int) -> bool:
        value = self._values.get(subject)
        return isinstance(value, int) and value > count

    def _counts(self, subjects: Sequence[str]) -> tuple[dict[str, int] | None, str | None]:
        values = {subject: self._values.get(subject) for subject in subjects}
        if any(isinstance(value, _Unsettled) for value in values.values()):
            return None, None
        known = {subject: value for subject, value in values.items() if isinstance(value, int)}
        return (known, None) if len(known) == len(values) else (None, self._epoch)

    def _unsettled(self, subject: str) -> _Unsettled:
        value = self._values.get(subject)
        if not isinstance(value, _Unsettled):
            value = self._values[subject] = _Unsettled(value)
        return value

    def _settle(self, nonce: int, subjects: Sequence[str], counts: Mapping[str, int]) -> None:
        for subject in subjects:
            value, new = self._values.get(subject), counts.get(subject)
            mine = isinstance(value, _Unsettled) and nonce in value.nonces
            if new is not None and not mine:
                # The mark was forgotten meanwhile: what others have read since may be from before the change.
                self._epoch = secrets.token_hex(8)
            if isinstance(value, _Unsettled):
                self._settle_one(subject, value, nonce, new)
            elif value is not None and new is not None:
                self._values[subject] = max(value, new)

    def _settle_one(self, subject: str, value: _Unsettled, nonce: int, new: int | None) -> None:
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


def _counted(limit: Limit, log: deque[int], allowed: bool) -> CountedHit:
    leaver = None if allowed or not log else log[max(0, len(log) - limit.count)]
    return CountedHit(allowed, len(log), log[0] if log else None, leaver)
