"""Metrics: answers, load and shared state in the text of Prometheus."""

from datetime import timedelta

from adapters.prometheus.metrics import PrometheusMetrics
from application.ports.access_log import AccessLine
from application.ports.load import HashLoad, PoolLoad, ReplicaLoad
from application.ports.metrics import Metrics, ProcessLoad, SharedState

STATE = SharedState(database=True, redis=False, migrations_pending=None, mails=None, oldest_mail=timedelta(0))


def test_answers_are_counted_by_endpoint_and_status() -> None:
    metrics: Metrics = PrometheusMetrics()
    for status in (200, 200, 404):
        metrics.see(AccessLine("GET", "/", status, 0.004, "id", "192.0.2.1", None, "products.read"))
    lines = metrics.text(STATE).decode().splitlines()
    assert 'tenantry_answers_total{endpoint="products.read",status="200"} 2.0' in lines
    assert 'tenantry_answers_total{endpoint="products.read",status="404"} 1.0' in lines
    assert 'tenantry_answer_seconds_count{endpoint="products.read"} 3.0' in lines


def test_the_last_load_of_a_process_counts() -> None:
    metrics: Metrics = PrometheusMetrics()
    for in_use in (7, 3):
        pool = PoolLoad(in_use=in_use, idle=2, most=20, waiting=0)
        loaded = ProcessLoad(
            pool=pool, hashes=HashLoad(), replicas=ReplicaLoad(), limits_refused=0, revocation_fallbacks=0
        )
        metrics.see_load(loaded)
    text = metrics.text(STATE).decode()
    assert [line.rpartition(" ")[2] for line in text.splitlines() if 'connections{state="in_use"' in line] == ["3.0"]
