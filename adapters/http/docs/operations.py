"""One operation of the document, completed by what follows from its handler's rules."""

from collections.abc import Mapping
from typing import Any

from litestar.handlers import HTTPRouteHandler

from adapters.http.docs.schemas import Schemas, ref
from adapters.http.request.errors import STATUS, STATUS_AT, code_in
from adapters.http.request.rules import ANY_TOKEN, Parameter, Rules
from adapters.http.request.strict_request import RawBody
from adapters.http.request.tenant_scope import scope_parameter
from domain.limits import Limit

Json = dict[str, Any]

LIMIT_HEADERS = {
    "X-RateLimit-Limit": "How many requests the window takes.",
    "X-RateLimit-Remaining": "How many of them are left.",
    "X-RateLimit-Reset": "The epoch second at which there is room again.",
}


def describe(operation: Json, handler: HTTPRouteHandler, rules: Rules, schemas: Schemas) -> Json:
    operation["description"] = _text(operation.get("description"), rules)
    own = [_parameter(parameter) for parameter in rules.described_parameters()]
    if rules.takes_scope:
        own.append(_parameter(scope_parameter(is_write=rules.is_write)))
    given = [_without_defaults(parameter) for parameter in operation.get("parameters", ())]
    operation["parameters"] = [*given, *own]
    operation["responses"] = _responses(operation["responses"], handler, rules, has_id=_has_id(given))
    operation["security"] = [{"bearer": []}] if rules.policy.asks else []
    example = rules.example or _entity_example(handler, schemas)
    if example is not None and "requestBody" in operation:
        operation["requestBody"]["content"]["application/json"]["example"] = example
    if rules.policy.permission:
        operation["x-permission"] = rules.policy.permission
    if isinstance(rules.limit, Limit):
        seconds = int(rules.limit.window.total_seconds())
        operation["x-rate-limit"] = {"requests": rules.limit.count, "seconds": seconds}
    return _without_defaults(operation)


def _without_defaults(described: Json) -> Json:
    """Litestar writes ``deprecated: false`` into everything."""
    return {name: value for name, value in described.items() if value is not False}


def _text(given: str | None, rules: Rules) -> str:
    """Description of the handler, and what its rules say in words."""
    sentences = [given] if given else []
    if rules.policy.asks == "any":
        sentences.append("Takes a Global Token as well as a Tenant Token.")
    if rules.policy.super_admin:
        sentences.append("For super-admins only.")
    if rules.policy.permission:
        sentences.append(f"Needs `{rules.policy.permission}`.")
    if isinstance(rules.limit, Limit):
        sentences.append(f"At most {rules.limit.count} requests a minute.")
    return " ".join(sentences)


def _parameter(parameter: Parameter) -> Json:
    shown: Json = {"name": parameter.name, "in": parameter.place, "schema": parameter.schema}
    return shown | ({"description": parameter.description} if parameter.description else {})


def _has_id(parameters: list[Json]) -> bool:
    """True where the path takes a parameter; a handler's own ``paths`` leave out its controller's."""
    return any(parameter["in"] == "path" for parameter in parameters)


def _responses(given: Json, handler: HTTPRouteHandler, rules: Rules, *, has_id: bool) -> Json:
    """Successes as the handler states them, and the errors that its rules allow.

    Litestar adds an error of its own shape to handlers with parameters; it never leaves this service.
    """
    stated = {str(status) for status, spec in (handler.responses or {}).items() if status not in _ERRORS}
    successes = {str(handler.status_code), *stated}
    kept = {status: _success(status, response, rules) for status, response in given.items() if status in successes}
    return {**kept, **_failures(handler, rules, has_id=has_id)}


_ERRORS = frozenset(STATUS.values()) - {503}  # 503 is a readiness answer too


def _success(status: str, response: Json, rules: Rules) -> Json:
    headers: Json = {
        name: {"schema": {"type": "string"}} | _without_defaults(header)
        for name, header in response.get("headers", {}).items()
    }
    if isinstance(rules.limit, Limit):
        headers |= {name: {"$ref": f"#/components/headers/{name}"} for name in LIMIT_HEADERS}
    success: Json = {"description": "Not modified." if status == "304" else "Done."}
    if headers:
        success["headers"] = headers
    if status != "204" and "content" in response:
        success["content"] = response["content"]
    return success


def _failures(handler: HTTPRouteHandler, rules: Rules, *, has_id: bool) -> Json:
    """Errors by status, naming the codes that can stand there."""
    by_status: dict[int, list[str]] = {}
    for code in _codes(handler, rules, has_id=has_id):
        status = STATUS_AT.get((rules.operation, code)) or STATUS[code]
        name = code_in(rules.area, code)
        if name not in by_status.setdefault(status, []):
            by_status[status].append(name)
    return {str(status): _failure(rules, status, by_status[status]) for status in sorted(by_status)}


def _codes(handler: HTTPRouteHandler, rules: Rules, *, has_id: bool) -> list[str]:
    codes = [*rules.errors]
    if rules.policy.asks:
        codes += ["UNAUTHORIZED", "TOKEN_INVALID", "TOKEN_EXPIRED"]
    if rules.policy.asks and rules.policy != ANY_TOKEN:
        codes.append("FORBIDDEN")
    if "data" in handler.parsed_fn_signature.parameters:
        codes += ["VALIDATION_ERROR", "BAD_REQUEST", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"]
    if has_id:
        codes.append("NOT_FOUND")
    if isinstance(rules.limit, Limit):
        codes += ["RATE_LIMITED", "SERVICE_UNAVAILABLE"]
    return [*codes, "INTERNAL_ERROR"]


def _failure(rules: Rules, status: int, codes: list[str]) -> Json:
    failure: Json = {
        "description": ", ".join(codes),
        "content": {"application/json": {"schema": ref(f"Error{rules.area}")}},
    }
    if status in (429, 503):
        failure["headers"] = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
    elif status == 401:
        failure["headers"] = {"WWW-Authenticate": {"description": "RFC 6750.", "schema": {"type": "string"}}}
    return failure


def _entity_example(handler: HTTPRouteHandler, schemas: Schemas) -> Mapping[str, object] | None:
    """A body that would be taken; None where one cannot be made up."""
    data = handler.parsed_fn_signature.parameters.get("data")
    kind = data.annotation if data else None
    return schemas.example(kind.form) if isinstance(kind, type) and issubclass(kind, RawBody) else None
