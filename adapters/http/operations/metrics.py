"""/metrics: what the service counts and measures, for Prometheus, and for whoever may ask."""

from hmac import compare_digest
from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.operations.this_machine import ensure_from_this_machine, ensure_named_as_this_machine
from adapters.http.request.bearer import bearer_token
from adapters.http.request.responses import NO_STORE, Bytes
from adapters.http.request.rules import unlisted
from adapters.http.request.strict_request import StrictRequest
from application.operations.monitoring import Monitoring
from application.ports.metrics import Metrics
from domain.errors import NotFound, Unauthorized

TEXT = "text/plain; version=0.0.4; charset=utf-8"


def metrics_handler(metrics: Metrics, monitoring: Monitoring, token: str | None, is_public: bool) -> HTTPRouteHandler:
    """Answers bearers of ``token``; without a token only requests from this machine, by its own name.

    NotFound for others, and for everybody where the service has no token and ``is_public``: BASE_URL is then not this
    machine, and a proxy in front of the service makes every request come from this machine.
    """

    @get("/metrics", **unlisted("metrics"))
    async def scrape(request: StrictRequest) -> Response[Any]:
        _ensure_may_ask(request, token, is_public=is_public)
        metrics.see_load(monitoring.load())
        return Bytes(metrics.text(await monitoring.shared_state()), TEXT, headers=NO_STORE)

    return scrape


def _ensure_may_ask(request: StrictRequest, token: str | None, *, is_public: bool) -> None:
    if token is None:
        if is_public:
            raise NotFound
        ensure_from_this_machine(request)
        # Security: a page that the operator visits can give this machine a name of its own (DNS rebinding).
        ensure_named_as_this_machine(request)
        return
    given = bearer_token((request.header(b"authorization") or "").encode("latin-1"))
    if not compare_digest(given.encode(), token.encode()):
        raise Unauthorized
