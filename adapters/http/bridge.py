"""Bridge, to be deleted: serves endpoints that still await their conversion to handlers."""

import hashlib
from dataclasses import replace
from typing import Any, Protocol, cast

from litestar import Response, route
from litestar.handlers import HTTPRouteHandler

from adapters.http.entities.idempotency import KEY, LONGEST_KEY
from adapters.http.request.body import ensure_json
from adapters.http.request.endpoint import Answer, Call, Endpoint, Headers
from adapters.http.request.export import Export
from adapters.http.request.responses import Bytes
from adapters.http.request.rules import rules
from adapters.http.request.strict_request import StrictRequest
from adapters.http.request.tenant_scope import scope_parameter
from application.entities.cross_tenant_access import CrossTenantAccess
from application.entities.writing import IdempotencyKey, Write
from domain.errors import BadRequest

__all__ = ["KEY", "Bypassing", "reaching", "replayed", "write_of"]


class Bypassing(Protocol):
    @property
    def cross_tenant_access(self) -> CrossTenantAccess: ...


async def _taken(_: Any) -> Any:
    raise NotImplementedError


def reaching(_: CrossTenantAccess, endpoint: Any) -> Any:
    parameter = scope_parameter(is_write=endpoint.method != "GET")
    return replace(endpoint, scope=_taken, parameters=(*endpoint.parameters, parameter))


def write_of(call: Call) -> Write:
    return Write(caller=call.signed_in, scope=call.tenant, idempotency_key=_once(call))


def _once(call: Call) -> IdempotencyKey | None:
    given = call.headers.get(b"idempotency-key")
    if given is None or call.method != "POST":
        return None
    if not (0 < len(given) <= LONGEST_KEY and given.isascii() and given.decode("ascii").isprintable()):
        raise BadRequest(f"Idempotency-Key takes 1 to {LONGEST_KEY} visible ASCII characters.")
    asked = b"\n".join((call.path.encode(), call.query_string, call.body or b""))
    return IdempotencyKey(given.decode("ascii"), hashlib.sha256(asked).hexdigest())


def replayed(is_replayed: bool) -> Headers:
    return ((b"idempotent-replayed", b"true"),) if is_replayed else ()


def bridged(endpoint: Endpoint) -> HTTPRouteHandler:
    async def handler(request: StrictRequest) -> Response[Any]:
        return _response(await endpoint.run(await _call(endpoint, request)))

    query = [one for one in endpoint.parameters if one.place == "query"]
    return route(
        endpoint.path.replace("}", ":str}"),
        http_method=endpoint.method,
        name=endpoint.operation,
        status_code=200,
        tags=[endpoint.tag],
        summary=endpoint.summary,
        description=endpoint.description or None,
        request_max_body_size=None if endpoint.form_data is not None else endpoint.largest_body,
        include_in_schema=endpoint.tag not in ("docs", "account") and endpoint.operation != "metrics",
        opt=rules(
            policy=endpoint.policy,
            limit=endpoint.limit,
            area=endpoint.area,
            by_email=endpoint.by_email,
            takes_scope=endpoint.scope is not None,
            parameters=lambda: tuple(one for one in endpoint.parameters if one.name != "X-Tenant-Scope"),
            errors=endpoint.errors,
        )
        if query or endpoint.area == "B"
        else rules(
            policy=endpoint.policy,
            limit=endpoint.limit,
            area=endpoint.area,
            by_email=endpoint.by_email,
            errors=endpoint.errors,
        ),
    )(handler)


async def _call(endpoint: Endpoint, request: StrictRequest) -> Call:
    scope = request.scope
    body = None
    if endpoint.body is not None:
        body = await request.body()
        ensure_json(scope["state"]["headers"].get(b"content-type"))
    return Call(
        method=request.method,
        path="/" + scope["path"].strip("/"),
        path_params=scope["path_params"],
        query_string=scope["query_string"],
        headers=scope["state"]["headers"],
        client=request.from_client,
        at=request.at,
        caller=scope["auth"],
        body=body,
        scope=scope["state"].get("tenant_scope"),
        receive=cast(Any, request.receive),
    )


def _response(answer: Answer) -> Response[Any]:
    headers = {name.decode(): value.decode("latin-1") for name, value in answer.headers}
    kind = headers.pop("content-type", "application/json")
    if isinstance(answer.body, bytes):
        return Bytes(answer.body, kind, answer.status, headers)
    return Export(cast(Any, answer.body), media_type=kind.partition(";")[0], status_code=answer.status, headers=headers)
