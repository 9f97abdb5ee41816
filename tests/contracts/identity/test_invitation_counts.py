"""InvitationOutcomes: every hearer learns every outcome, and without one nothing happens."""

from adapters.http.operations.outcomes import InvitationCounts


def test_every_hearer_learns_each_outcome() -> None:
    outcomes = InvitationCounts()
    outcomes.count("sent", 100)
    heard: list[tuple[str, int]] = []
    for _ in range(2):
        outcomes.hearers.append(lambda outcome, many: heard.append((outcome, many)))
    outcomes.count("sent", 3)
    outcomes.count("accepted")
    assert heard == [("sent", 3), ("sent", 3), ("accepted", 1), ("accepted", 1)]
