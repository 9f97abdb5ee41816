"""/metrics: answers and times by endpoint, and gauges of what they need; for Prometheus, and for whoever may ask."""

import os
from collections.abc import Callable
from hmac import compare_digest
from importlib.metadata import version
from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.operations.access_log import AccessLine
from adapters.http.operations.gauges import Families, ProcessGauges, process_families, shared_families
from adapters.http.operations.workers import Workers
from adapters.http.request.responses import NO_STORE, Bytes
from adapters.http.request.rules import unlisted
from adapters.http.request.strict_request import StrictRequest
from adapters.http.request.this_machine import ensure_from_this_machine
from application.operations.monitoring import Monitoring, ProcessLoad, SharedState
from domain.errors import Unauthorized

TEXT = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Set before the processes start, it is where they add up; without it a process answers for itself."""


class Metrics:
    """Counters of one process, made after it has started: where it counts is decided then."""

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
        self._second_factors = Counter(
            "tenantry_mfa_total", "Second factors by method and outcome.", ["method", "outcome"], registry=self._own
        )
        self._keys = Counter("tenantry_keys_used", "Requests with a known API key.", registry=self._own)
        self._invitations = Counter(
            "tenantry_invitations_total", "Invitations by what came of them.", ["outcome"], registry=self._own
        )
        self._codes = Counter(
            "tenantry_login_codes_total", "One-time codes by what came of them.", ["outcome"], registry=self._own
        )
        # Finding a labelled counter costs more than counting with it. Endpoints and statuses are few.
        self._gauges, self._workers = ProcessGauges(self._own), Workers(os.environ.get(SHARED_FOLDER))
        self._counting: dict[tuple[str, int], tuple[Callable[[], None], Callable[[float], None]]] = {}

    def see(self, line: AccessLine) -> None:
        counting = self._counting.get((line.operation, line.status))
        if counting is None:
            counting = self._counting[line.operation, line.status] = self._labelled(line)
        count, observe = counting
        count()
        observe(line.took)
        if line.by_key and line.user_id is not None:
            self._keys.inc()

    def see_invitations(self, outcome: str, many: int) -> None:
        self._invitations.labels(outcome).inc(many)

    def see_second_factor(self, method: str, outcome: str) -> None:
        self._second_factors.labels(method, outcome).inc()

    def see_login_code(self, outcome: str) -> None:
        self._codes.labels(outcome).inc()

    def see_load(self, load: ProcessLoad, lag: float | None = None) -> None:
        self._gauges.see(load, lag)

    def _labelled(self, line: AccessLine) -> tuple[Callable[[], None], Callable[[float], None]]:
        answers = self._answers.labels(line.operation, str(line.status))
        return answers.inc, self._seconds.labels(line.operation).observe

    def text(self, state: SharedState) -> bytes:
        from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415
        from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415

        alive, every = self._workers.alive(), self._own
        if SHARED_FOLDER in os.environ:
            # Counters of every process, read from their files; the registry of this one holds its own alone.
            every = CollectorRegistry()
            MultiProcessCollector(every)  # type: ignore[no-untyped-call]
        now = CollectorRegistry()
        now.register(Families([*shared_families(state, version("tenantry")), *process_families(alive)]))
        return generate_latest(every) + generate_latest(now)


def metrics_handler(metrics: Metrics, monitoring: Monitoring, token: str | None) -> HTTPRouteHandler:
    """Answers bearers of ``token``, without one this machine alone; NotFound for others."""

    @get("/metrics", **unlisted("metrics"))
    async def scrape(request: StrictRequest) -> Response[Any]:
        _ensure_may_ask(request, token)
        metrics.see_load(monitoring.load())
        return Bytes(metrics.text(await monitoring.shared_state()), TEXT, headers=NO_STORE)

    return scrape


def _ensure_may_ask(request: StrictRequest, token: str | None) -> None:
    if token is None:
        ensure_from_this_machine(request)
        return
    given = (request.header(b"authorization") or "").removeprefix("Bearer ")
    if not compare_digest(given.encode(), token.encode()):
        raise Unauthorized
