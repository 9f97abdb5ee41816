"""Answers to requests that no handler takes, in an application that may have answers of its own."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from litestar import Request, Response
from litestar.config.app import AppConfig
from litestar.exceptions import ClientException, HTTPException, MethodNotAllowedException, NotFoundException
from litestar.exceptions.responses import create_exception_response
from litestar.response.base import ASGIResponse
from litestar.types import HTTPScope

from adapters.http.request.pipeline import Pipeline
from adapters.http.request.rules import Area


class Refusal(Response[None]):
    """Response of an exception handler, for requests that never reached the pipeline."""

    def __init__(self, error: Exception, area: Area, pipeline: Pipeline) -> None:
        super().__init__(None, status_code=getattr(error, "status_code", 500))
        self._send = partial(pipeline.refuse, error, area)

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIResponse:
        return cast(ASGIResponse, self._send)


Answer = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def answer_unmatched(
    app_config: AppConfig,
    area_of: Callable[[str], Area | None],
    is_matched: Callable[[HTTPScope], bool],
    pipeline: Pipeline,
) -> None:
    """404, 405 and odd hosts are found before any route: the application's own handlers answer them."""
    theirs = dict(app_config.exception_handlers)

    def answer(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
        is_theirs = is_matched(request.scope)
        if not is_theirs and (area := area_of(request.scope["path"])):
            return Refusal(error, area, pipeline)
        return _as_before(request, error, theirs, answer, is_matched=is_theirs)

    for kind in (NotFoundException, MethodNotAllowedException, ClientException):
        app_config.exception_handlers[kind] = answer
    # keys that are a status beat those that are a class
    for status in {404, 405, 400} & theirs.keys():
        app_config.exception_handlers[status] = answer


def _as_before(
    request: Request[Any, Any, Any], error: HTTPException, theirs: Any, ours: Answer, *, is_matched: bool
) -> Response[Any]:
    """The answer that the application would give without us, found in Litestar's own order."""
    handlers = dict(theirs)
    if is_matched:
        layered = request.scope["route_handler"].resolve_exception_handlers()
        handlers |= {key: handler for key, handler in layered.items() if handler is not ours}
    keys = (error.status_code, *type(error).__mro__)
    found: Answer = next((handlers[key] for key in keys if key in handlers), create_exception_response)
    return found(request, error)
