"""Operations of the document, completed from their handlers' rules."""

import re
from typing import Any

from litestar.enums import HttpMethod
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, OpenAPIHeader, Operation, Schema, SecurityScheme
from litestar.openapi.spec.enums import OpenAPIType
from litestar.types import OperationIDCreator

from adapters.http.docs.schemas import ExactSchemas, ref
from adapters.http.request.errors import STATUS, STATUS_AT, code_in
from adapters.http.request.responses import ETAG, LOCATION
from adapters.http.request.rules import Parameter, Rules
from domain.limits import Limit

Json = dict[str, Any]

LIMIT_HEADERS = {
    "X-RateLimit-Limit": ("limit", "Number of requests allowed in the window."),
    "X-RateLimit-Remaining": ("remaining", "How many of them are left."),
    "X-RateLimit-Reset": ("reset", "The epoch second at which there is room again."),
}
"""Component names and descriptions, by header name."""
BEARER = SecurityScheme(
    type="http",
    scheme="bearer",
    bearer_format="JWT",
    description="The token that login, refresh and switch-tenant answer with, or an API key of a service account.",
)
_RETRY = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_ERROR_HEADERS: dict[int, Json] = {
    401: {"WWW-Authenticate": {"description": "RFC 6750.", "schema": {"type": "string"}}},
    429: _RETRY,
    503: _RETRY,
}
_BASIC: Json = {"WWW-Authenticate": {"description": "RFC 7617.", "schema": {"type": "string"}}}
_EVERYWHERE = {
    413: ["PAYLOAD_TOO_LARGE"],
    415: ["UNSUPPORTED_MEDIA_TYPE"],
    429: ["RATE_LIMITED"],
    500: ["INTERNAL_ERROR"],
    503: ["SERVICE_UNAVAILABLE"],
}
"""Errors that follow from the rest of an operation; a status with only these codes is described in ``default``."""
_ERRORS = frozenset(STATUS.values()) - {503}  # 503 is a readiness answer too


def shared_components() -> Components:
    """Return the security scheme, and the headers of each response with a rate limit."""
    number = Schema(type=OpenAPIType.INTEGER)
    headers = {name: OpenAPIHeader(description=text, schema=number) for name, text in LIMIT_HEADERS.values()}
    return Components(security_schemes={"bearer": BEARER}, headers=dict(headers))


def camel(name: str) -> str:
    """Convert ``auth.switch-tenant`` to ``authSwitchTenant``."""
    first, *rest = re.split(r"[._-]", name)
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def operation_id(name: str | None) -> OperationIDCreator:
    """Convert ``auth.switch-tenant`` to ``authSwitchTenant``, with another id for HEAD; None means Litestar's id."""

    def made(handler: HTTPRouteHandler, method: Any, path: Any) -> str:
        given = camel(name) if name else _UNNAMED(handler, method, path)
        return given + ("Head" if method == HttpMethod.HEAD else "")

    return made


_UNNAMED = OpenAPIConfig("", "").operation_id_creator


def operation_class(handler: HTTPRouteHandler, rules: Rules, exact: ExactSchemas) -> type[Operation]:
    """Return the operation class of a handler, with parameters, errors, permission and limit."""

    class RulesOperation(handler.operation_class):  # type: ignore[name-defined,misc]
        def to_schema(self) -> Json:
            operation: Json = super().to_schema()
            operation |= {"requestBody": {"required": True, "content": rules.form}} if rules.form else {}
            parameters = [without_flags(parameter) for parameter in operation.get("parameters", ())]
            has_id = any(parameter["in"] == "path" for parameter in parameters)
            operation |= {
                "description": _text(operation.get("description"), rules),
                "parameters": [*parameters, *map(_parameter, rules.described_parameters())],
                "responses": _successes(_with_headers(operation["responses"], handler, rules, exact), handler, rules)
                | _failures(_codes(handler, rules, has_id), rules),
                "security": _security(rules),
            }
            data = handler.parsed_fn_signature.parameters.get("data")
            example = rules.example or exact.schemas.example(getattr(data and data.annotation, "form", None))
            if data is not None and data.has_default:
                operation["requestBody"]["required"] = False
            if example is not None and "requestBody" in operation:
                operation["requestBody"]["content"]["application/json"]["example"] = example
            return without_flags(operation | _extensions(rules))

    return RulesOperation


def _security(rules: Rules) -> list[Json]:
    """Return the security requirement: a token is required, optional (additional empty object) or not read."""
    if rules.policy.asks:
        return [{"bearer": []}]
    return [{}, {"bearer": []}] if rules.policy.reads_token else []


def without_flags(described: Json) -> Json:
    """Return the description without False members: Litestar adds ``deprecated: false`` everywhere."""
    return {name: value for name, value in described.items() if value is not False}


def _extensions(rules: Rules) -> Json:
    extensions: Json = {"x-permission": rules.policy.permission} if rules.policy.permission else {}
    if isinstance(rules.limit, Limit):
        seconds = int(rules.limit.window.total_seconds())
        extensions["x-rate-limit"] = {"requests": rules.limit.count, "seconds": seconds}
    return extensions


def _text(given: str | None, rules: Rules) -> str:
    sentences = {
        given: given,
        "Takes a Global Token as well as a Tenant Token.": rules.policy.asks == "any",
        "For super-admins only.": rules.policy.super_admin,
        f"Needs `{rules.policy.permission}`.": rules.policy.permission,
        "Not for service accounts.": rules.policy.people,
        "Needs a login, or a call of reauthenticate, within the last minutes.": rules.policy.recent,
    }
    if isinstance(rules.limit, Limit):
        sentences[f"At most {rules.limit.count} requests a minute."] = True
    return " ".join(sentence for sentence, is_said in sentences.items() if sentence and is_said)


def _parameter(parameter: Parameter) -> Json:
    described: Json = {"name": parameter.name, "in": parameter.place, "schema": parameter.schema}
    described |= {"description": parameter.description} if parameter.description else {}
    return described | ({"style": parameter.style, "explode": True, "example": {}} if parameter.style else {})


def _with_headers(given: Json, handler: HTTPRouteHandler, rules: Rules, exact: ExactSchemas) -> Json:
    headers = given[str(handler.status_code)].setdefault("headers", {})
    brought = [ETAG] if exact.is_row(handler) else []
    brought += [LOCATION] if rules.area == "A" and handler.status_code == 201 else []
    for header in brought:
        headers.setdefault(header.name, {"description": header.description})
    return given


def _successes(given: Json, handler: HTTPRouteHandler, rules: Rules) -> Json:
    """Successful responses, without the error that Litestar adds to handlers with parameters."""
    stated = {str(status) for status in (handler.status_code, *(handler.responses or {})) if status not in _ERRORS}
    counted = {header: {"$ref": f"#/components/headers/{name}"} for header, (name, _) in LIMIT_HEADERS.items()}
    successes: Json = {}
    of_success = given[str(handler.status_code)].get("headers", {})
    for status in (status for status in given if status in stated):
        # A 304 has the entity tag of the full response.
        told = of_success if status == "304" else given[status].get("headers", {})
        # Litestar stores the headers in a set. Sort them, so that the document is equal in every process.
        headers: Json = {name: {"schema": {"type": "string"}} | without_flags(told[name]) for name in sorted(told)}
        headers |= counted if isinstance(rules.limit, Limit) else {}
        success: Json = {"description": "Not modified." if status == "304" else "Done."}
        success |= {"headers": headers} if headers else {}
        if status != "204" and "content" in given[status]:
            # Litestar writes an empty media type if the handler of a file has none.
            content = given[status]["content"].items()
            success["content"] = {media_type or "application/octet-stream": told for media_type, told in content}
        successes[status] = success
    return successes


def _failures(codes: list[str], rules: Rules) -> Json:
    """Errors by status; ``default`` describes the errors of every operation."""
    by_status: dict[int, dict[str, None]] = {}
    for code in codes:
        status = STATUS_AT.get((rules.operation, code)) or STATUS[code]
        by_status.setdefault(status, {})[code_in(rules.area, code)] = None
    content = {"application/json": {"schema": ref(f"Error{rules.area}")}}
    failures: Json = {}
    for status, names in sorted(by_status.items()):
        if rules.area in ("A", "B") and [*names] == [code_in(rules.area, code) for code in _EVERYWHERE.get(status, ())]:
            continue
        told = _BASIC if (status, rules.area) == (401, "OAuth") else _ERROR_HEADERS.get(status)
        headers = {"headers": told} if told else {}
        failures[str(status)] = {"description": ", ".join(names), "content": content, **headers}
    if rules.area in ("A", "B"):
        failures["default"] = {"description": _default(rules), "content": content, "headers": _RETRY}
    return failures


def _default(rules: Rules) -> str:
    names = {status: f"{code_in(rules.area, code)} ({status})" for status, (code,) in _EVERYWHERE.items()}
    return (
        f"{names[500]} of any operation; {names[429]} and {names[503]} of one with `x-rate-limit`; "
        f"{names[413]} and {names[415]} of one with a body."
    )


def _codes(handler: HTTPRouteHandler, rules: Rules, has_id: bool) -> list[str]:
    codes = [*rules.errors]
    if rules.policy.asks or rules.policy.reads_token:
        codes += ["UNAUTHORIZED", "TOKEN_INVALID", "TOKEN_EXPIRED"]
    if rules.policy.asks:
        codes.append("FORBIDDEN")  # of the permission, or of an API key's networks
    codes += ["REAUTHENTICATION_REQUIRED"] if rules.policy.recent else []
    if "data" in handler.parsed_fn_signature.parameters:
        codes += ["VALIDATION_ERROR", "BAD_REQUEST", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"]
    if has_id or rules.takes_scope:
        codes.append("NOT_FOUND")  # unknown row, or unknown tenant in X-Tenant-Scope
    if not rules.any_query:
        codes.append("VALIDATION_ERROR")  # the pipeline refuses unknown query parameters
    if rules.takes_scope:
        codes.append("BAD_REQUEST")
    if isinstance(rules.limit, Limit):
        codes += ["RATE_LIMITED", "SERVICE_UNAVAILABLE"]
    return [*codes, "INTERNAL_ERROR"]
