"""Metrics of a process: answers and times by endpoint, outcomes, and gauges."""

import os
from collections.abc import Callable
from importlib.metadata import version

from adapters.prometheus.files import FileMetrics
from adapters.prometheus.gauges import Families, ProcessGauges, process_families, shared_families
from adapters.prometheus.workers import SHARED_FOLDER, Workers
from application.operations.traffic import SECONDS
from application.ports.access_log import AccessLine
from application.ports.metrics import ProcessLoad, SharedState


class PrometheusMetrics:
    """Counters of one process. Create them after its start, because the process determines where they are stored."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram

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
        self._webhooks = Counter(
            "tenantry_webhook_deliveries_total", "Tries of webhooks by outcome.", ["outcome"], registry=self._own
        )
        # Cache labelled counters: finding one costs more than counting. Endpoints and statuses are few.
        self._gauges, self._workers = ProcessGauges(self._own), Workers(os.environ.get(SHARED_FOLDER))
        self._files = FileMetrics(self._own)
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

    def see_webhook(self, outcome: str) -> None:
        self._webhooks.labels(outcome).inc()

    def see_load(self, load: ProcessLoad, lag: float | None = None) -> None:
        self._gauges.see(load, lag)
        self._files.see(load.files)

    def _labelled(self, line: AccessLine) -> tuple[Callable[[], None], Callable[[float], None]]:
        answers = self._answers.labels(line.operation, str(line.status))
        return answers.inc, self._seconds.labels(line.operation).observe

    def text(self, state: SharedState) -> bytes:
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        alive, every = self._workers.alive(), self._own
        if SHARED_FOLDER in os.environ:
            # Read every process's counters from files; this process's registry has only its own.
            every = CollectorRegistry()
            MultiProcessCollector(every)  # type: ignore[no-untyped-call]
        now = CollectorRegistry()
        now.register(Families([*shared_families(state, version("tenantry")), *process_families(alive)]))
        return generate_latest(every) + generate_latest(now)
