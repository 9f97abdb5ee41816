"""Counts of the outcomes of second factors, one-time codes and invitations: use cases report them to the metrics."""

from collections.abc import Callable
from dataclasses import dataclass, field

SecondFactorListener = Callable[[str, str], None]
CodeListener = Callable[[str], None]
InvitationListener = Callable[[str, int], None]


@dataclass(frozen=True)
class SecondFactorCounts:
    """Listeners for each outcome of a second factor.

    Without a listener, as in a plugin without metrics, the outcomes are not counted.
    """

    listeners: list[SecondFactorListener] = field(default_factory=list)

    def count(self, method: str, outcome: str) -> None:
        for listen in self.listeners:
            listen(method, outcome)


@dataclass(frozen=True)
class CodeCounts:
    """Like ``SecondFactorCounts``, for codes: ``issued``, ``redeemed`` and ``refused``."""

    listeners: list[CodeListener] = field(default_factory=list)

    def count(self, outcome: str) -> None:
        for listen in self.listeners:
            listen(outcome)


@dataclass(frozen=True)
class WebhookCounts:
    """Like ``SecondFactorCounts``, for tries of webhooks: ``delivered``, ``failed`` and ``given-up``."""

    listeners: list[CodeListener] = field(default_factory=list)

    def count(self, outcome: str) -> None:
        for listen in self.listeners:
            listen(outcome)


@dataclass(frozen=True)
class InvitationCounts:
    """Like ``SecondFactorCounts``, for invitations and join requests, with several equal outcomes per call."""

    listeners: list[InvitationListener] = field(default_factory=list)

    def count(self, outcome: str, many: int = 1) -> None:
        for listen in self.listeners:
            listen(outcome, many)
