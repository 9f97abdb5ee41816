"""/metrics: counters and measurements for Prometheus, and the access rules."""

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
    """Return the handler of `/metrics` for clients with ``token``; without a token, for requests from this machine to
    ``localhost`` or an address.

    Other clients get NotFound. If ``is_public`` and no token is set, all clients do: BASE_URL then names another
    machine, and through its proxy all requests seem local.
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
        # Security: a web page can resolve its host name to this machine (DNS rebinding).
        ensure_named_as_this_machine(request)
        return
    given = bearer_token((request.header(b"authorization") or "").encode("latin-1"))
    if not compare_digest(given.encode(), token.encode()):
        raise Unauthorized
