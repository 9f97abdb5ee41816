"""Counts of what came of second factors, one-time codes and invitations: use cases count, the metrics listen."""

from collections.abc import Callable
from dataclasses import dataclass, field

SecondFactorListener = Callable[[str, str], None]
CodeListener = Callable[[str], None]
InvitationListener = Callable[[str, int], None]


@dataclass(frozen=True)
class SecondFactorCounts:
    """Tells every listener of each outcome; without one, as in a plugin without metrics, nothing is counted."""

    listeners: list[SecondFactorListener] = field(default_factory=list)

    def count(self, method: str, outcome: str) -> None:
        for listen in self.listeners:
            listen(method, outcome)


@dataclass(frozen=True)
class CodeCounts:
    """As ``SecondFactorCounts``, for codes: ``issued``, ``redeemed`` and ``refused``."""

    listeners: list[CodeListener] = field(default_factory=list)

    def count(self, outcome: str) -> None:
        for listen in self.listeners:
            listen(outcome)


@dataclass(frozen=True)
class InvitationCounts:
    """As ``SecondFactorCounts``, for invitations and requests to join, of which several may have come to the same."""

    listeners: list[InvitationListener] = field(default_factory=list)

    def count(self, outcome: str, many: int = 1) -> None:
        for listen in self.listeners:
            listen(outcome, many)
