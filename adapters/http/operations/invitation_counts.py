"""What came of invitations: counted by use cases, heard by the metrics of the process."""

from collections.abc import Callable
from dataclasses import dataclass, field

InvitationHearer = Callable[[str, int], None]


@dataclass(frozen=True)
class InvitationCounts:
    """Tells every hearer of each outcome; without one, as in a plugin without metrics, nothing is counted."""

    hearers: list[InvitationHearer] = field(default_factory=list)

    def count(self, outcome: str, many: int = 1) -> None:
        for hear in self.hearers:
            hear(outcome, many)
