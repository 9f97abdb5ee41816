"""Scripts as commands to a server, with keys and arguments."""

import itertools
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence

from adapters.redis.scripts import ADMIT, BEGIN, LOOK, PUBLISH, REMEMBER, RENEW, TAKE_BACK, Script
from adapters.redis.shared_pipeline import Command
from application.ports.shared_memory import PresentedToken
from domain.limits import MICROSECOND, Hit

MARK_SECONDS = 600
NUMBER_SECONDS = 3_600
EPOCH_SECONDS = 86_400


class Commands:
    """Scripts as commands to a server, with keys and arguments.

    ``now`` gives the epoch in microseconds to tests that move time; by default Redis' own clock counts.

    With ``spread``, for a cluster, each caller's limits are in a separate slot, and no command has keys in two slots:
    see spread_admissions.py.
    """

    def __init__(self, prefix: str = "tenantry", now: Callable[[], int] | None = None, *, spread: bool = False) -> None:
        self._prefix = f"{{{prefix}}}:"  # a hash tag: a cluster stores a script's keys on one node
        self._name = prefix
        self.is_spread = spread
        self._copy = (f"{self._prefix}lease", f"{self._prefix}epoch")
        self._now = now
        self._nonces = (f"{secrets.token_hex(8)}{number:08x}" for number in itertools.count())

    def nonce(self) -> str:
        """Return a new hexadecimal name for a change or a generation."""
        return next(self._nonces)

    def admit(self, hits: Sequence[Hit], presented: PresentedToken | None) -> Command:
        instead: Sequence[Hit] = presented.instead if presented else ()
        issued: Mapping[str, int] = presented.issued if presented else {}
        keys = self._logs((*hits, *instead))
        if issued:
            keys += self._with_copy(issued)
        limits = _limits((*hits, *instead))
        return ("EVALSHA", ADMIT.sha, len(keys), *keys, self._at(), len(hits), len(instead), *limits, *issued.values())

    def take_back(self, hits: Sequence[Hit]) -> Command:
        return _script(TAKE_BACK, self._logs(hits))

    def remember(self, versions: Mapping[str, int], ticket: str) -> Command:
        return _script(REMEMBER, self._with_copy(versions), self._at(), ticket, NUMBER_SECONDS, *versions.values())

    def publish(self, nonce: str, subjects: Sequence[str], versions: Mapping[str, int]) -> Command:
        numbers = [versions.get(subject, "") for subject in subjects]
        return _script(PUBLISH, self._with_copy(subjects), self._at(), nonce, NUMBER_SECONDS, *numbers)

    def begin(self, nonce: str, subjects: Sequence[str]) -> Command:
        return _script(BEGIN, self._version_keys(subjects), nonce, MARK_SECONDS)

    def look(self) -> Command:
        return _script(LOOK, self._copy[:1], self._at())

    def renew(self, ends: int, server: str) -> Command:
        """Renew the lease on ``server`` until ``ends`` by its clock; do nothing on another server."""
        return _script(RENEW, self._copy, self._at(), ends, self.nonce(), EPOCH_SECONDS, server)

    def version_key(self, subject: str) -> str:
        return f"{self._prefix}count:{subject}"

    def _logs(self, hits: Sequence[Hit]) -> list[str]:
        if self.is_spread:
            # The hash tag ends at the first brace. A caller with a brace in its name may share a slot with others, but
            # never a key.
            return [f"{{{self._name}:{hit.caller}}}:limit:{hit.limit.name}:{hit.caller}" for hit in hits]
        return [f"{self._prefix}limit:{hit.limit.name}:{hit.caller}" for hit in hits]

    def _with_copy(self, subjects: Iterable[str]) -> list[str]:
        return [*self._copy, *self._version_keys(subjects)]

    def _version_keys(self, subjects: Iterable[str]) -> list[str]:
        start = f"{self._prefix}count:"
        return [start + subject for subject in subjects]

    def _at(self) -> str | int:
        # All processes share the server's clock, unless a test sets the time.
        return "" if self._now is None else self._now()


def _limits(hits: Sequence[Hit]) -> list[int]:
    return [number for hit in hits for number in (hit.limit.count, hit.limit.window // MICROSECOND)]


def _script(script: Script, keys: Sequence[str], *arguments: str | int) -> Command:
    return ("EVALSHA", script.sha, len(keys), *keys, *arguments)
