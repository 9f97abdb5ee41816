"""Outcomes, CodeOutcomes, InvitationOutcomes: every listener learns each outcome, and without one nothing happens."""

from adapters.prometheus.outcomes import CodeCounts, InvitationCounts, SecondFactorCounts


def test_every_listener_learns_what_came_of_a_second_factor() -> None:
    counts = SecondFactorCounts()
    counts.count("totp", "refused")
    heard: list[tuple[str, str]] = []
    for _ in range(2):
        counts.listeners.append(lambda method, outcome: heard.append((method, outcome)))
    counts.count("passkey", "passed")
    assert heard == [("passkey", "passed"), ("passkey", "passed")]


def test_every_listener_learns_what_came_of_a_code() -> None:
    counts = CodeCounts()
    counts.count("issued")
    heard: list[str] = []
    for _ in range(2):
        counts.listeners.append(heard.append)
    counts.count("redeemed")
    assert heard == ["redeemed", "redeemed"]


def test_every_listener_learns_what_came_of_an_invitation() -> None:
    counts = InvitationCounts()
    counts.count("sent", 100)
    heard: list[tuple[str, int]] = []
    for _ in range(2):
        counts.listeners.append(lambda outcome, many: heard.append((outcome, many)))
    counts.count("sent", 3)
    counts.count("accepted")
    assert heard == [("sent", 3), ("sent", 3), ("accepted", 1), ("accepted", 1)]
