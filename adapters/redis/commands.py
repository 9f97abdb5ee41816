"""Commands: the scripts as commands to a server, with their keys and arguments."""

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
    """The scripts as commands to a server, with their keys and arguments.

    ``now`` gives the epoch in microseconds to tests that move time; without it Redis' own clock counts.

    With ``spread``, for a cluster, the limits of each caller lie in a slot of their own, and no command names keys of
    two slots: see spread_admissions.py.
    """

    def __init__(self, prefix: str = "tenantry", now: Callable[[], int] | None = None, *, spread: bool = False) -> None:
        self._prefix = f"{{{prefix}}}:"  # a hash tag: a cluster keeps all keys of a script in one place
        self._name = prefix
        self.is_spread = spread
        self._copy = (f"{self._prefix}lease", f"{self._prefix}epoch")
        self._now = now
        self._nonces = (f"{secrets.token_hex(8)}{number:08x}" for number in itertools.count())

    def nonce(self) -> str:
        """A new name for a change or a generation, hexadecimal."""
        return next(self._nonces)

    def admit(self, hits: Sequence[Hit], presented: PresentedToken | None) -> Command:
        instead: Sequence[Hit] = presented.instead if presented else ()
        issued: Mapping[str, int] = presented.issued if presented else {}
        keys = self._logs((*hits, *instead))
        if issued:
            keys += self._with_copy(issued)
        limits = (len(hits), len(instead), *_limits(hits), *_limits(instead))
        return ("EVALSHA", ADMIT.sha, len(keys), *keys, self._at(), *limits, *issued.values())

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
        """Renews the lease on ``server``, by whose clock it ``ends``; any other server renews nothing."""
        return _script(RENEW, self._copy, self._at(), ends, self.nonce(), EPOCH_SECONDS, server)

    def version_key(self, subject: str) -> str:
        return f"{self._prefix}count:{subject}"

    def _logs(self, hits: Sequence[Hit]) -> list[str]:
        if self.is_spread:
            # The tag ends at the first brace, so a caller with one in its name shares a slot with others, and no key.
            return [f"{{{self._name}:{hit.caller}}}:limit:{hit.limit.name}:{hit.caller}" for hit in hits]
        return [f"{self._prefix}limit:{hit.limit.name}:{hit.caller}" for hit in hits]

    def _with_copy(self, subjects: Iterable[str]) -> list[str]:
        """The keys of the lease, the epoch, and the subjects."""
        return [*self._copy, *self._version_keys(subjects)]

    def _version_keys(self, subjects: Iterable[str]) -> list[str]:
        return [self.version_key(subject) for subject in subjects]

    def _at(self) -> str | int:
        # The server's own clock, which all processes share, unless a test moves time.
        return "" if self._now is None else self._now()


def _limits(hits: Sequence[Hit]) -> list[int]:
    """Count and window of each hit's limit, in microseconds."""
    return [number for hit in hits for number in (hit.limit.count, hit.limit.window // MICROSECOND)]


def _script(script: Script, keys: Sequence[str], *arguments: str | int) -> Command:
    return ("EVALSHA", script.sha, len(keys), *keys, *arguments)
