"""Gauges of ``/metrics``: the load of each process, the shared state, and process figures."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from application.ports.metrics import ProcessLoad, SharedState

if TYPE_CHECKING:  # import prometheus_client late: at its import it decides where to store counters
    from prometheus_client import CollectorRegistry, Metric

TOGETHER: dict[str, Callable[[Iterable[float]], float]] = {
    "process_max_fds": min,
    "process_open_fds": max,
    "process_start_time_seconds": max,
}
"""Figures not summed over processes: the result is the worst value or the latest start."""


class ProcessGauges:
    """Load of this process. With several processes, the registry sums the latest value of each."""

    def __init__(self, registry: "CollectorRegistry") -> None:
        from prometheus_client import Counter, Gauge

        together: dict[str, Any] = {"registry": registry, "multiprocess_mode": "livesum"}
        slowest = {**together, "multiprocess_mode": "livemax"}
        self._workers = Gauge("tenantry_workers", "Processes that serve.", **together)
        self._connections = Gauge(
            "tenantry_pool_connections", "Connections to PostgreSQL: `in_use` and `idle`.", ["state"], **together
        )
        self._most = Gauge(
            "tenantry_pool_connections_max", "Connections that the processes may open together.", **together
        )
        self._waiting = Gauge("tenantry_pool_waiting_requests", "Requests that wait for a connection.", **together)
        self._hashes = Gauge(
            "tenantry_password_hashes", "Password hashes: `running` and `waiting`.", ["state"], **together
        )
        self._most_hashes = Gauge(
            "tenantry_password_hashes_waiting_max",
            "Password hashes that may wait; beyond, logins are answered 429.",
            **together,
        )
        self._hashes_refused = Counter(
            "tenantry_password_hashes_refused_total",
            "Password hashes that were refused, as too many waited.",
            registry=registry,
        )
        self._limits_refused = Counter(
            "tenantry_limits_refused_total", "Requests that a rate limit refused.", registry=registry
        )
        self._fallbacks = Counter(
            "tenantry_revocation_fallbacks_total",
            "Checks of a token that asked PostgreSQL, because Redis was away or did not know.",
            registry=registry,
        )
        self._lag = Gauge("tenantry_event_loop_lag_seconds", "How late a timer of the slowest process was.", **slowest)
        self._replica_lag = Gauge(
            "tenantry_replica_lag_seconds", "How far the read replica that is furthest behind is.", **slowest
        )
        self._left_out = Gauge(
            "tenantry_replicas_left_out", "Read replicas that are away or too far behind to be read from.", **slowest
        )
        self._streams = Gauge("tenantry_changes_streams", "Open streams of changes.", **together)
        self._told = (0, 0, 0)
        self._workers.set(1)

    def see(self, load: ProcessLoad, lag: float | None = None) -> None:
        """Record the load; ``lag`` is in seconds. If it is None, its gauge does not change."""
        pool, hashes = load.pool, load.hashes
        self._connections.labels("in_use").set(pool.in_use)
        self._connections.labels("idle").set(pool.idle)
        self._most.set(pool.most)
        self._waiting.set(pool.waiting)
        self._hashes.labels("running").set(hashes.running)
        self._hashes.labels("waiting").set(hashes.waiting)
        self._most_hashes.set(hashes.most_waiting)
        self._replica_lag.set(load.replicas.lag)
        self._left_out.set(load.replicas.left_out)
        self._streams.set(load.streams)
        if lag is not None:
            self._lag.set(lag)
        self._count(hashes.refused, load.limits_refused, load.revocation_fallbacks)

    def _count(self, *numbers: int) -> None:
        counters = (self._hashes_refused, self._limits_refused, self._fallbacks)
        for counter, now, before in zip(counters, numbers, self._told, strict=True):
            counter.inc(now - before)
        self._told = (numbers[0], numbers[1], numbers[2])


class Families:
    """Collector of metrics created for one answer."""

    def __init__(self, metrics: "Sequence[Metric]") -> None:
        self._metrics = metrics

    def collect(self) -> "Sequence[Metric]":
        return self._metrics


def shared_families(state: SharedState, version: str) -> "Iterator[Metric]":
    """Return the state shared by all processes; unknown values are omitted."""
    from prometheus_client.core import GaugeMetricFamily

    yield GaugeMetricFamily(
        "tenantry_postgres_up", "1 when PostgreSQL answers a query within two seconds.", state.database
    )
    yield GaugeMetricFamily("tenantry_redis_up", "1 when Redis answers.", state.redis)
    if state.migrations_pending is not None:
        yield GaugeMetricFamily(
            "tenantry_migrations_pending", "1 when migrations are pending.", state.migrations_pending
        )
    if state.mails is not None and state.oldest_mail is not None:
        mails = GaugeMetricFamily(
            "tenantry_outbox_mails", "Mails of the outbox: `waiting` and `given_up`.", labels=["state"]
        )
        mails.add_metric(["waiting"], state.mails.waiting)
        mails.add_metric(["given_up"], state.mails.given_up)
        yield mails
        seconds = state.oldest_mail.total_seconds()
        yield GaugeMetricFamily(
            "tenantry_outbox_oldest_mail_seconds", "Age of the oldest mail that waits; 0 without any.", seconds
        )
    if state.changes_lag is not None:
        lag = state.changes_lag.total_seconds()
        yield GaugeMetricFamily(
            "tenantry_changes_lag_seconds", "Age of the oldest change without a position; 0 without any.", lag
        )
    if state.webhooks is not None:
        deliveries = GaugeMetricFamily(
            "tenantry_webhook_backlog", "Deliveries of webhooks: `waiting` and `given_up`.", labels=["state"]
        )
        deliveries.add_metric(["waiting"], state.webhooks.waiting)
        deliveries.add_metric(["given_up"], state.webhooks.given_up)
        yield deliveries
    build = GaugeMetricFamily(
        "tenantry_build_info", "Always 1; the label has the version of the service.", labels=["version"]
    )
    build.add_metric([version], 1)
    yield build


def process_families(pids: Sequence[int]) -> "list[Metric]":
    """Return combined figures of all serving processes, under the standard names of Prometheus clients; Linux only."""
    from prometheus_client import ProcessCollector

    found = [metric for pid in pids for metric in ProcessCollector(pid=partial(int, pid), registry=None).collect()]
    families = {metric.name: metric for metric in found}
    for name, metric in families.items():
        values = [same.samples[0].value for same in found if same.name == name]
        metric.samples = [metric.samples[0]._replace(value=TOGETHER.get(name, sum)(values))]
    return list(families.values())
