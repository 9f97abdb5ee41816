"""Where a request enters and its answer leaves: the one place that speaks ASGI."""

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from adapters.http.operations.access_log import AccessLine, AccessLog
from adapters.http.request.body import ClientGone, Receive, TooSlow
from adapters.http.request.client_address import Network, read_client
from adapters.http.request.endpoint import NOWHERE, Answer, Area, Call
from adapters.http.request.errors import error_answer
from adapters.http.request.pipeline import Pipeline, limit_headers
from adapters.http.request.routes import Methods, Routes, allowed, parameter_names
from adapters.http.request.streaming import close, stream
from application.ports.runtime import Clock
from domain.errors import MethodNotAllowed, NotFound

AREA_A = frozenset({"auth", "users", "roles", "permissions", "tenants"})

Send = Callable[[Any], Awaitable[None]]
AnyScope = MutableMapping[str, Any]

TOO_SLOW = Answer(408, headers=((b"connection", b"close"),))

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Door:
    routes: Routes
    pipeline: Pipeline
    clock: Clock
    proxies: tuple[Network, ...]
    log: AccessLog

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        started = perf_counter()
        call = self._call(scope)
        call.receive = receive
        try:
            answer = await self._answer(call, receive)
            await _send(answer, call, send)
        except TooSlow:
            answer = TOO_SLOW
            await _send(answer, call, send)
        except ClientGone:
            return
        self.log(_line(call, answer.status, perf_counter() - started))

    def _call(self, scope: AnyScope) -> Call:
        return Call(
            method=scope["method"],
            path="/" + scope["path"].strip("/"),
            path_params={},
            query_string=scope["query_string"],
            headers=dict(scope["headers"]),
            client=read_client(scope.get("client"), scope["headers"], self.proxies),
            at=self.clock.now(),
        )

    async def _answer(self, call: Call, receive: Receive) -> Answer:
        found = self.routes.match(call.path)
        if found is None:
            return error_answer(NotFound(), area_of(call.path), NOWHERE, call.request_id)
        methods, values = found
        endpoint = methods.get("GET" if call.method == "HEAD" else call.method)
        if endpoint is None:
            return _without_endpoint(methods, call)
        call.operation = endpoint.operation
        call.path_params = dict(zip(parameter_names(endpoint.path), values, strict=True))
        return await self.pipeline.answer(endpoint, call, receive)


def _without_endpoint(methods: Methods, call: Call) -> Answer:
    allow = allowed(methods)
    if call.method == "OPTIONS":
        return Answer(204, headers=((b"allow", ", ".join(allow).encode()),))
    area = next(iter(methods.values())).area
    return error_answer(MethodNotAllowed(allow), area, NOWHERE, call.request_id)


def area_of(path: str) -> Area:
    """Whose envelope says that there is nothing."""
    steps = [step for step in path.split("/") if step]
    return "A" if len(steps) > 1 and steps[0] == "api" and steps[1] in AREA_A else "B"


def _line(call: Call, status: int, took: float) -> AccessLine:
    user_id = call.caller.user_id if call.caller else None
    return AccessLine(
        call.method, call.path, status, took, call.request_id, call.client.address, user_id, call.operation
    )


async def _send(answer: Answer, call: Call, send: Send) -> None:
    headers = [
        *answer.headers,
        (b"x-request-id", call.request_id.encode("ascii")),
        (b"x-content-type-options", b"nosniff"),
    ]
    if call.verdict is not None:
        headers += limit_headers(call.verdict)
    if isinstance(answer.body, bytes):
        if answer.status not in (204, 304):
            headers.append((b"content-length", b"%d" % len(answer.body)))
        await _start(answer, headers, send)
        await send({"type": "http.response.body", "body": b"" if call.method == "HEAD" else answer.body})
        return
    await _start(answer, headers, send)
    if call.method == "HEAD":
        await send({"type": "http.response.body", "body": b""})
        await close(answer.body)
        return
    assert call.receive is not None
    try:
        await stream(answer.body, send, call.receive)
    except ClientGone:
        raise
    except Exception as error:
        log.exception("answer broken off", extra={"path": call.path, "request_id": call.request_id}, exc_info=error)
        raise


async def _start(answer: Answer, headers: list[tuple[bytes, bytes]], send: Send) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
