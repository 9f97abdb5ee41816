"""The scripts as commands to one server: their keys, in a namespace of its run id, and their arguments."""

import itertools
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence

from adapters.redis.batch import Command, Write
from adapters.redis.scripts import ADMIT, BEGIN, LOOK, REMEMBER, RENEW, SETTLE, TAKE_BACK, Script
from application.ports.admissions import ShownToken
from domain.limits import MICROSECOND, Hit

MARK_SECONDS = 600
NUMBER_SECONDS = 3_600
EPOCH_SECONDS = 86_400


class Commands:
    """``now`` gives the epoch in microseconds to tests that move time; without it Redis' own clock counts."""

    def __init__(self, prefix: str = "tenantry", now: Callable[[], int] | None = None) -> None:
        self._prefix = f"{{{prefix}}}:"  # a hash tag: a cluster keeps all keys of a script in one place
        self._now = now
        self._nonces = (f"{secrets.token_hex(8)}{number:08x}" for number in itertools.count())

    def nonce(self) -> str:
        """Hexadecimal: it names generations, too."""
        return next(self._nonces)

    def admit(self, hits: Sequence[Hit], shown: ShownToken | None) -> Write:
        instead: Sequence[Hit] = shown.instead if shown else ()
        issued: Mapping[str, int] = shown.issued if shown else {}
        keys = self._logs((*hits, *instead))
        limits = (len(hits), len(instead), *_limits(hits), *_limits(instead))

        def write(run_id: str) -> Command:
            copy = self._copy(run_id, issued) if issued else ()
            numbers = (len(keys) + len(copy), *keys, *copy, self._at(), *limits, *issued.values())
            return ("EVALSHA", ADMIT.sha, *numbers)

        return write

    def take_back(self, hits: Sequence[Hit]) -> Write:
        keys = self._logs(hits)
        return lambda _: _script(TAKE_BACK, keys)

    def remember(self, counts: Mapping[str, int], ticket: str) -> Write:
        return self._on_copy(REMEMBER, counts, ticket, NUMBER_SECONDS, *counts.values())

    def settle(self, nonce: str, subjects: Sequence[str], counts: Mapping[str, int]) -> Write:
        numbers = [counts.get(subject, "") for subject in subjects]
        return self._on_copy(SETTLE, subjects, nonce, NUMBER_SECONDS, *numbers)

    def begin(self, nonce: str, subjects: Sequence[str]) -> Write:
        return lambda run_id: _script(BEGIN, self._copy(run_id, subjects)[2:], nonce, MARK_SECONDS)

    def look(self) -> Write:
        return lambda run_id: _script(LOOK, self._copy(run_id, ())[:1], self._at())

    def renew(self, ends: int, of: str) -> Write:
        """The time of one server says nothing about the lease of another: of that, nothing is renewed."""
        nonce = self.nonce()
        return lambda run_id: _script(
            RENEW, self._copy(run_id, ()), self._at(), ends if run_id == of else 0, nonce, EPOCH_SECONDS
        )

    def _on_copy(self, script: Script, subjects: Iterable[str], *arguments: str | int) -> Write:
        return lambda run_id: _script(script, self._copy(run_id, subjects), self._at(), *arguments)

    def _logs(self, hits: Sequence[Hit]) -> list[str]:
        return [f"{self._prefix}limit:{hit.limit.name}:{hit.caller}" for hit in hits]

    def _at(self) -> str | int:
        return "" if self._now is None else self._now()

    def _copy(self, run_id: str, subjects: Iterable[str]) -> tuple[str, ...]:
        """The lease, the epoch, and the subjects' own keys."""
        own = f"{self._prefix}{run_id}:"
        return (f"{own}lease", f"{own}epoch", *[f"{own}count:{subject}" for subject in subjects])


def _limits(hits: Sequence[Hit]) -> list[int]:
    """Count and window of each, in microseconds."""
    return [number for hit in hits for number in (hit.limit.count, hit.limit.window // MICROSECOND)]


def _script(script: Script, keys: Sequence[str], *arguments: str | int) -> Command:
    return ("EVALSHA", script.sha, len(keys), *keys, *arguments)
