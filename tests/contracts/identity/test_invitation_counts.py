"""InvitationOutcomes: every listener learns every outcome, and without one nothing happens."""

from adapters.prometheus.outcomes import InvitationCounts


def test_every_listener_learns_each_outcome() -> None:
    counts = InvitationCounts()
    counts.count("sent", 100)
    heard: list[tuple[str, int]] = []
    for _ in range(2):
        counts.listeners.append(lambda outcome, many: heard.append((outcome, many)))
    counts.count("sent", 3)
    counts.count("accepted")
    assert heard == [("sent", 3), ("sent", 3), ("accepted", 1), ("accepted", 1)]
