"""/metrics: who is told what the service counts."""

from typing import Any

import httpx

from adapters.http.app import HttpSettings, build_app
from adapters.prometheus.metrics import PrometheusMetrics
from entrypoints.testing import app as testing
from tests.http.app import TestApp, client_of


async def test_metrics_are_this_machines_without_a_token(app: TestApp) -> None:
    # others count in the application of ``app``
    counted = testing.client_of(build_app(app.services, HttpSettings(), PrometheusMetrics()))
    await counted.get("/health/live")
    answer = await counted.get("/metrics")
    assert answer.status_code == 200
    assert 'tenantry_answers_total{endpoint="health.live",status="200"} 1.0' in answer.text
    assert 'tenantry_answer_seconds_count{endpoint="health.live"} 1.0' in answer.text
    forwarded = await counted.get("/metrics", headers={"X-Forwarded-For": "203.0.113.9"})
    assert forwarded.status_code == 404


async def test_ipv4_where_the_service_listens_on_ipv6_is_this_machine_too(app: TestApp) -> None:
    application: Any = build_app(app.services, HttpSettings(), PrometheusMetrics())
    for peer, status in {"::ffff:127.0.0.1": 200, "::1": 200, "::ffff:203.0.113.9": 404}.items():
        transport = httpx.ASGITransport(application, client=(peer, 4711))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.get("/metrics")).status_code == status, peer


TOKENS = {"Bearer the token": 200, "bearer the token": 200, "Bearer another": 401, "the token": 401, "": 401}.items()


async def test_metrics_with_a_token_are_its_bearers(app: TestApp) -> None:
    async with client_of(app.services, HttpSettings(metrics_token="the token")) as client:
        for given, status in TOKENS:
            answer = await client.get("/metrics", headers={"Authorization": given})
            assert answer.status_code == status, given
