"""What came of second factors, one-time codes and invitations: counted by use cases, heard by the metrics."""

from collections.abc import Callable
from dataclasses import dataclass, field

Hearer = Callable[[str, str], None]
CodeHearer = Callable[[str], None]
InvitationHearer = Callable[[str, int], None]


@dataclass(frozen=True)
class OutcomeCounts:
    """Tells every hearer of each outcome; without one, as in a plugin without metrics, nothing is counted."""

    hearers: list[Hearer] = field(default_factory=list)

    def count(self, method: str, outcome: str) -> None:
        for hear in self.hearers:
            hear(method, outcome)


@dataclass(frozen=True)
class CodeCounts:
    """As ``OutcomeCounts``, for codes: ``issued``, ``redeemed`` and ``refused``."""

    hearers: list[CodeHearer] = field(default_factory=list)

    def count(self, outcome: str) -> None:
        for hear in self.hearers:
            hear(outcome)


@dataclass(frozen=True)
class InvitationCounts:
    """As ``OutcomeCounts``, for invitations and requests to join, of which several may have come to the same."""

    hearers: list[InvitationHearer] = field(default_factory=list)

    def count(self, outcome: str, many: int = 1) -> None:
        for hear in self.hearers:
            hear(outcome, many)
