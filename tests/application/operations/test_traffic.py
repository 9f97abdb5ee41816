"""Traffic: points between two readings of the counters."""

from application.operations.traffic import EVERY, READINGS, Traffic
from application.ports.access_log import AccessLine

START = 1_795_000_000.0


class Watch:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> float:
        return self.at


class Service:
    """Counters with their readings, as a service has them."""

    def __init__(self) -> None:
        self.watch = Watch()
        self.traffic = Traffic(self.watch)

    def answer(self, status: int = 200, took: float = 0.004, operation: str = "products.page", times: int = 1) -> None:
        line = AccessLine("GET", "/api/products", status, took, "id", "192.0.2.1", None, operation)
        for _ in range(times):
            self.traffic.see(line)


def test_a_point_has_the_requests_of_its_minute() -> None:
    service = Service()
    service.answer(times=98)
    service.answer(500, 3.0)
    service.answer(429)
    service.watch.at += EVERY
    service.answer(times=2)
    first, second = service.traffic.report().points
    assert (first.requests, first.errors, first.refused, first.seconds) == (100, 1, 1, EVERY)
    assert (second.requests, second.errors, second.seconds) == (2, 0, 0.0)
    assert first.at.timestamp() == START + EVERY


def test_times_lie_within_their_bucket() -> None:
    service = Service()
    service.answer(took=0.004, times=98)
    service.answer(took=3.0, times=2)
    (point,) = service.traffic.report().points
    assert point.p50 is not None
    assert point.p99 is not None
    assert 2.5 <= point.p50 <= 5.0
    assert 2_500 <= point.p99 <= 5_000
    slow = Service()
    slow.answer(took=60.0)
    assert slow.traffic.report().points[0].p99 == 10_000


def test_idle_minutes_and_questions_about_the_service_are_no_points() -> None:
    service = Service()
    service.answer(operation="health.ready", times=5)
    service.answer(operation="metrics")
    service.watch.at += 10 * EVERY
    assert service.traffic.report().points == []
    service.answer()
    service.watch.at += EVERY
    assert [point.requests for point in service.traffic.report().points] == [1]


def test_six_hours_are_kept() -> None:
    service = Service()
    for _ in range(READINGS + 50):
        service.answer()
        service.watch.at += EVERY
    assert len(service.traffic.report().points) == READINGS
