"""Answers to requests without a handler: unknown paths and methods, wrong hosts, and preflights."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from litestar import Request, Response
from litestar.config.app import AppConfig
from litestar.exceptions import ClientException, HTTPException, MethodNotAllowedException, NotFoundException
from litestar.exceptions.responses import create_exception_response
from litestar.response.base import ASGIResponse
from litestar.types import HTTPScope, Message, Scope

from adapters.http.request.client_address import read_client
from adapters.http.request.errors import ErrorResponse
from adapters.http.request.pipeline import Pipeline
from adapters.http.request.responses import JSON
from adapters.http.request.rules import NOWHERE, Area
from domain.errors import BadRequest


class Refusal(Response[None]):
    """Response of an exception handler, for requests rejected before the pipeline."""

    def __init__(self, error: Exception, area: Area, pipeline: Pipeline) -> None:
        super().__init__(None, status_code=getattr(error, "status_code", 500))
        self._send = partial(pipeline.refuse, error, area)

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIResponse:
        return cast(ASGIResponse, self._send)


REFUSED = "refused preflight"  # key in the request's state for the body of a refused preflight

Answer = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def answer_unmatched(
    app_config: AppConfig,
    area_of: Callable[[str], Area | None],
    is_matched: Callable[[HTTPScope], bool],
    pipeline: Pipeline,
) -> None:
    """Register handlers for 404, 405 and invalid hosts, which Litestar detects before routing."""
    theirs = dict(app_config.exception_handlers)

    def answer(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
        is_theirs = is_matched(request.scope)
        if not is_theirs and (area := area_of(request.scope["path"])):
            return Refusal(error, area, pipeline)
        return _as_before(request, error, theirs, answer, is_matched=is_theirs)

    for kind in (NotFoundException, MethodNotAllowedException, ClientException):
        app_config.exception_handlers[kind] = answer
    # Litestar prefers handlers for a status to handlers for a class.
    for status in {404, 405, 400} & theirs.keys():
        app_config.exception_handlers[status] = answer


def _as_before(
    request: Request[Any, Any, Any], error: HTTPException, theirs: Any, ours: Answer, *, is_matched: bool
) -> Response[Any]:
    """Return the response of the application's own exception handler, which Litestar would call if `answer` were not
    registered.
    """
    handlers = dict(theirs)
    if is_matched:
        layered = request.scope["route_handler"].resolve_exception_handlers()
        handlers |= {key: handler for key, handler in layered.items() if handler is not ours}
    keys = (error.status_code, *type(error).__mro__)
    found: Answer = next((handlers[key] for key in keys if key in handlers), create_exception_response)
    return found(request, error)


async def complete_preflight(area_of: Callable[[str], Area | None], message: Message, scope: Scope) -> None:
    """Add the request id, and a refusal's envelope, to preflights, which Litestar answers before routing."""
    state = scope["state"]
    if message["type"] == "http.response.start" and "client" not in state:
        request_id = read_client(cast(HTTPScope, scope), dict(scope["headers"]), ()).request_id
        headers = [*message["headers"], (b"x-request-id", request_id.encode("ascii"))]
        if message["status"] == 400:
            error = BadRequest("The origin of the page is not one of TENANTRY_CORS_ORIGINS.")
            state[REFUSED] = ErrorResponse(error, area_of(scope["path"]) or "B", NOWHERE, request_id).content
            described = {b"content-type": JSON.encode(), b"content-length": b"%d" % len(state[REFUSED])}
            headers = [*(dict(headers) | described).items()]
        message["headers"] = headers
    elif message["type"] == "http.response.body" and REFUSED in state:
        message["body"] = state.pop(REFUSED)
