"""What came of second factors and of one-time codes: counted by use cases, heard by the metrics of the process."""

from collections.abc import Callable
from dataclasses import dataclass, field

Hearer = Callable[[str, str], None]
CodeHearer = Callable[[str], None]


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
