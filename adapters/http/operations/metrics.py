"""/metrics: how many answers, and how long they took, by endpoint; for Prometheus, and for whoever may ask."""

import asyncio
import os
from bisect import bisect_left
from dataclasses import dataclass, field
from hmac import compare_digest
from ipaddress import ip_address
from typing import Any, Protocol

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.operations.access_log import AccessLine
from adapters.http.request.responses import NO_STORE, Bytes
from adapters.http.request.rules import PUBLIC, UNLIMITED, rules
from adapters.http.request.strict_request import StrictRequest
from domain.errors import NotFound, Unauthorized

TEXT = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
GATHERED = 1.0
"""Seconds after which other processes see what this one counted."""
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Set before the processes start, it is where they add up; without it a process answers for itself."""


@dataclass
class _Tally:
    """``answers`` by how long they took: one number for each of SECONDS, and one for what took longer."""

    answers: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    took: float = 0.0


class Metrics:
    """Made once in each process, after it has started: where it counts is decided then."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram  # noqa: PLC0415  # see the class

        self._own = CollectorRegistry()
        self._answers = Counter(
            "tenantry_answers_total", "Answers by endpoint and status.", ["endpoint", "status"], registry=self._own
        )
        self._seconds = Histogram(
            "tenantry_answer_seconds",
            "Seconds from request to the answer's last byte.",
            ["endpoint"],
            buckets=SECONDS,
            registry=self._own,
        )
        self._tallies: dict[tuple[str, int], _Tally] = {}
        self._is_counted = True

    def see(self, line: AccessLine) -> None:
        tally = self._tallies.get((line.operation, line.status))
        if tally is None:
            tally = self._tallies[line.operation, line.status] = _Tally()
        tally.answers[bisect_left(SECONDS, line.took)] += 1
        tally.took += line.took
        if self._is_counted:
            self._is_counted = False
            asyncio.get_running_loop().call_later(GATHERED, self.count)

    def count(self) -> None:
        """The library's counters, shared by processes, cost more than a request may: they take many at once."""
        self._is_counted = True
        for (operation, status), tally in self._tallies.items():
            if (answers := sum(tally.answers)) == 0:
                continue
            self._answers.labels(operation, str(status)).inc(answers)
            seconds: Any = self._seconds.labels(operation)
            for bucket, number in zip(seconds._buckets, tally.answers, strict=True):  # noqa: SLF001  # it takes one by one
                bucket.inc(number)
            seconds._sum.inc(tally.took)  # noqa: SLF001
            tally.answers, tally.took = [0] * (len(SECONDS) + 1), 0.0

    def text(self) -> bytes:
        from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415
        from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415

        self.count()
        if SHARED_FOLDER not in os.environ:
            return generate_latest(self._own)
        every = CollectorRegistry()
        MultiProcessCollector(every)  # type: ignore[no-untyped-call]
        return generate_latest(every)


class Counted(Protocol):
    def text(self) -> bytes: ...


class NothingCounted:
    """Metrics that are not counted, for a process that only asks what is served."""

    def text(self) -> bytes:
        return b""


@dataclass(frozen=True)
class Scraping:
    """Answers bearers of ``token``, without one this machine alone; NotFound for others."""

    metrics: Counted
    token: str | None = field(repr=False)

    def text(self, request: StrictRequest) -> Response[Any]:
        self._ensure_may_ask(request)
        return Bytes(self.metrics.text(), TEXT, headers=NO_STORE)

    def _ensure_may_ask(self, request: StrictRequest) -> None:
        if self.token is None:
            is_forwarded = any(request.header(name) is not None for name in FORWARDED)
            if is_forwarded or not _is_this_machine(request.from_client.address):
                raise NotFound
            return
        given = (request.header(b"authorization") or "").removeprefix("Bearer ")
        if not compare_digest(given.encode(), self.token.encode()):
            raise Unauthorized


# through a proxy anybody seems to be this machine
FORWARDED = frozenset({b"x-forwarded-for", b"forwarded"})


def _is_this_machine(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def metrics_handler(metrics: Counted, token: str | None) -> HTTPRouteHandler:
    scraping = Scraping(metrics, token)

    @get("/metrics", name="metrics", include_in_schema=False, opt=rules(policy=PUBLIC, limit=UNLIMITED))
    async def scrape(request: StrictRequest) -> Response[Any]:
        return scraping.text(request)

    return scrape
