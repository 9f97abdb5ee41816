"""`/api/system/traffic`: points between two readings of the counters."""

from array import array
from pathlib import Path

import pytest

from adapters.http.operations.access_log import AccessLine
from adapters.http.operations.traffic import END, EVERY, READINGS, SLOTS, Traffic, TrafficCounters
from tests.http.app import TestApp

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


def test_workers_are_added_up_also_one_that_has_ended(tmp_path: Path) -> None:
    line = AccessLine("GET", "/", 200, 0.004, "id", "192.0.2.1", None, "products.page")
    own = TrafficCounters(str(tmp_path))
    own.count(line)
    (tmp_path / f"7{END}").write_bytes(array("q", [5, 1, 2, *[0] * (SLOTS - 3)]).tobytes())
    (tmp_path / f"8{END}").write_bytes(b"")  # it has only begun
    totals = own.totals()
    assert (totals.requests, totals.errors, totals.refused, sum(totals.buckets)) == (6, 1, 2, 1)


@pytest.mark.parametrize(("whom", "status"), [("root", 200), ("acme", 403), (None, 401)])
async def test_it_is_for_super_admins(app: TestApp, whom: str | None, status: int) -> None:
    answer = await app.call("GET", "/api/system/traffic", as_whom=whom)
    assert answer.status_code == status
    if status == 200:
        points = answer.json()["data"]["points"]
        assert points[-1].keys() == {"at", "seconds", "requests", "errors", "refused", "p50", "p99"}
        assert sum(point["requests"] for point in points) >= 5
