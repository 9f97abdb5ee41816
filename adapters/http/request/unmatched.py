"""Answers to requests that no handler takes: unknown paths, other methods, hosts that are none."""

from time import perf_counter
from typing import Any, cast

from litestar import Response
from litestar.connection import Request
from litestar.response.base import ASGIResponse
from litestar.types import HTTPScope, Receive, Scope, Send

from adapters.http.operations.access_log import AccessLine
from adapters.http.request.body import BodyReader
from adapters.http.request.client_address import read_client
from adapters.http.request.errors import ErrorResponse, as_error
from adapters.http.request.pipeline import Outgoing, Pipeline
from adapters.http.request.rules import NOWHERE, Area

AREA_A = frozenset({"auth", "users", "roles", "permissions", "tenants"})


class Unmatched(Response[None]):
    """Error with the headers, the line in the log and the reading of the body that the pipeline gives to others.

    Litestar's router refuses these requests before any middleware sees them.
    """

    def __init__(self, request: Request[Any, Any, Any], error: Exception, pipeline: Pipeline) -> None:
        super().__init__(None, status_code=getattr(error, "status_code", 500))
        self._request, self._error, self._pipeline = request, error, pipeline

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIResponse:
        return cast(ASGIResponse, self._send)

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, http = perf_counter(), cast(HTTPScope, scope)
        client = read_client(http.get("client"), http["headers"], self._pipeline.proxies)
        outgoing = Outgoing(BodyReader(http, receive, dict(http["headers"])), client, http["method"], send)
        told = as_error(self._request, self._error, NOWHERE, client.request_id)
        await ErrorResponse(told, area_of(http["path"]), NOWHERE, client.request_id).respond(scope, receive, outgoing)
        path, took = "/" + http["path"].strip("/"), perf_counter() - started
        self._pipeline.log(
            AccessLine(http["method"], path, outgoing.status, took, client.request_id, client.address, None, NOWHERE)
        )


def area_of(path: str) -> Area:
    """Area whose envelope a path belongs to: ``/api/users/17`` → ``A``."""
    return "A" if segment_of(path) in AREA_A else "B"


def segment_of(path: str) -> str:
    """``//api/products/17`` → ``products``; empty for paths that are not under /api."""
    steps = [step for step in path.split("/") if step]
    return steps[1] if len(steps) > 1 and steps[0] == "api" else ""
