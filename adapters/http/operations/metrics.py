"""/metrics: what the service counts and measures, for Prometheus, and for whoever may ask."""

from hmac import compare_digest
from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.operations.this_machine import ensure_from_this_machine
from adapters.http.request.bearer import bearer_token
from adapters.http.request.responses import NO_STORE, Bytes
from adapters.http.request.rules import unlisted
from adapters.http.request.strict_request import StrictRequest
from application.operations.monitoring import Monitoring
from application.ports.metrics import Metrics
from domain.errors import Unauthorized

TEXT = "text/plain; version=0.0.4; charset=utf-8"


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
    given = bearer_token((request.header(b"authorization") or "").encode("latin-1"))
    if not compare_digest(given.encode(), token.encode()):
        raise Unauthorized
