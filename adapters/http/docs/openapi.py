"""The OpenAPI 3.1 description, made from the table of endpoints and the entities behind it."""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from adapters.http.docs.page import About
from adapters.http.docs.schemas import Schemas, ref
from adapters.http.docs.shared_parameters import SharedParameters
from adapters.http.request.endpoint import ANY_TOKEN, Area, Endpoint, Shown, Unlimited
from adapters.http.request.errors import STATUS, STATUS_AT, code_in
from adapters.http.request.routes import parameter_names
from domain.entities.declaration import Registry

Json = dict[str, object]

LIMIT_HEADERS = {
    "X-RateLimit-Limit": "How many requests the window takes.",
    "X-RateLimit-Remaining": "How many of them are left.",
    "X-RateLimit-Reset": "The epoch second at which there is room again.",
}
HEADER_TEXTS = {
    "Location": "The path of what was made.",
    "ETag": "The version, for `If-Match` and `If-None-Match`.",
    "Idempotent-Replayed": "`true` where the request came before under its `Idempotency-Key`.",
}
SERVED_AT = "/"


def description(endpoints: Sequence[Endpoint], registry: Registry, about: About) -> bytes:
    """The whole document as JSON; the same input makes the same bytes."""
    schemas, parameters = Schemas(endpoints, registry), SharedParameters(endpoints)
    document = {
        "openapi": "3.1.0",
        "info": _info(about),
        "servers": [{"url": SERVED_AT}],
        "tags": [{"name": tag} for tag in dict.fromkeys(one.tag for one in endpoints)],
        "paths": _paths(endpoints, schemas, parameters),
        "components": {
            "schemas": schemas.components,
            "parameters": parameters.components,
            "headers": _limit_headers(),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "The token that login, refresh and switch-tenant answer with.",
                }
            },
        },
    }
    return msgspec.json.encode(document)


def _info(about: About) -> Json:
    info: Json = {"title": about.title, "version": about.version, "description": about.description}
    contact = {"name": about.contact_name, "url": about.contact_url, "email": about.contact_email}
    if given := {name: value for name, value in contact.items() if value}:
        info["contact"] = given
    if about.license_url:
        info["license"] = {"name": "Licence", "url": about.license_url}
    return info


def _limit_headers() -> Json:
    return {name: {"description": text, "schema": {"type": "integer"}} for name, text in LIMIT_HEADERS.items()}


def _paths(endpoints: Iterable[Endpoint], schemas: Schemas, parameters: SharedParameters) -> Json:
    paths: dict[str, Json] = {}
    for endpoint in endpoints:
        path = re.sub(r"{(\w+)}", lambda found: "{" + camel(found[1]) + "}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, schemas, parameters)
    return dict(paths)


def _operation(endpoint: Endpoint, schemas: Schemas, parameters: SharedParameters) -> Json:
    operation: Json = {
        "tags": [endpoint.tag],
        "operationId": camel(endpoint.operation),
        "summary": endpoint.summary,
        "description": _text(endpoint),
        "parameters": [*_path_parameters(endpoint), *parameters.of(endpoint)],
        "responses": {**_successes(endpoint, schemas), **_failures(endpoint)},
        "security": [{"bearer": []}] if endpoint.policy.asks else [],
    }
    if endpoint.body is not None:
        operation["requestBody"] = _request_body(endpoint, endpoint.body, schemas)
    if endpoint.form_data is not None:
        operation["requestBody"] = {"required": True, "content": {"multipart/form-data": _form(endpoint.form_data)}}
    if endpoint.policy.permission:
        operation["x-permission"] = endpoint.policy.permission
    if not isinstance(endpoint.limit, Unlimited):
        seconds = int(endpoint.limit.window.total_seconds())
        operation["x-rate-limit"] = {"requests": endpoint.limit.count, "seconds": seconds}
    return operation


def _text(endpoint: Endpoint) -> str:
    """What holds of the endpoint, for a reader."""
    policy, sentences = endpoint.policy, [endpoint.description] if endpoint.description else []
    if policy.asks == "any":
        sentences.append("Takes a Global Token as well as a Tenant Token.")
    if policy.super_admin:
        sentences.append("For super-admins only.")
    if policy.permission:
        sentences.append(f"Needs `{policy.permission}`.")
    if not isinstance(endpoint.limit, Unlimited):
        sentences.append(f"At most {endpoint.limit.count} requests a minute.")
    return " ".join(sentences)


def _path_parameters(endpoint: Endpoint) -> list[Json]:
    uuid = {"type": "string", "format": "uuid"}
    return [
        {"name": camel(name), "in": "path", "required": True, "schema": uuid} for name in parameter_names(endpoint.path)
    ]


def _request_body(endpoint: Endpoint, form: type[msgspec.Struct], schemas: Schemas) -> Json:
    content: Json = {"schema": schemas.of(form)}
    example = endpoint.example or schemas.example(form)
    if example is not None:
        content["example"] = example
    return {"required": True, "content": {"application/json": content}}


def _form(schema: Mapping[str, object]) -> Json:
    return {"schema": schema, "encoding": {"options": {"contentType": "application/json"}}}


def _successes(endpoint: Endpoint, schemas: Schemas) -> Json:
    by_status: dict[str, list[Shown]] = {}
    for shown in endpoint.shown:
        by_status.setdefault(str(shown.status), []).append(shown)
    return {status: _success(endpoint, every, schemas) for status, every in by_status.items()}


def _success(endpoint: Endpoint, every: Sequence[Shown], schemas: Schemas) -> Json:
    answer: Json = {"description": "Not modified." if every[0].status == 304 else "Done."}
    headers: Json = {
        name: {"description": HEADER_TEXTS[name], "schema": {"type": "string"}} for name in every[0].headers
    }
    if not isinstance(endpoint.limit, Unlimited):
        headers |= {name: {"$ref": f"#/components/headers/{name}"} for name in LIMIT_HEADERS}
    if headers:
        answer["headers"] = headers
    bodies = [schemas.answer(endpoint.area, one) for one in every if one.wrapping != "none"]
    if bodies:
        schema = bodies[0] if len(bodies) == 1 else {"anyOf": bodies}
        files = {kind: {"schema": {"type": "string"}} for kind in every[0].files}
        answer["content"] = {**files, "application/json": {"schema": schema}}
    return answer


def _failures(endpoint: Endpoint) -> Json:
    """By status, naming the codes that can stand there."""
    by_status: dict[int, list[str]] = {}
    for code in _codes(endpoint):
        status = STATUS_AT.get((endpoint.operation, code)) or STATUS[code]
        name = code_in(endpoint.area, code)
        if name not in by_status.setdefault(status, []):
            by_status[status].append(name)
    return {str(status): _failure(endpoint.area, status, by_status[status]) for status in sorted(by_status)}


def _codes(endpoint: Endpoint) -> list[str]:
    codes = [*endpoint.errors]
    if endpoint.policy.asks:
        codes += ["UNAUTHORIZED", "TOKEN_INVALID", "TOKEN_EXPIRED"]
    if endpoint.policy.asks and endpoint.policy != ANY_TOKEN:
        codes.append("FORBIDDEN")
    if endpoint.body is not None:
        codes += ["VALIDATION_ERROR", "BAD_REQUEST", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"]
    if parameter_names(endpoint.path):
        codes.append("NOT_FOUND")
    if not isinstance(endpoint.limit, Unlimited):
        codes += ["RATE_LIMITED", "SERVICE_UNAVAILABLE"]
    return [*codes, "INTERNAL_ERROR"]


def _failure(area: Area, status: int, codes: Sequence[str]) -> Json:
    answer: Json = {
        "description": ", ".join(codes),
        "content": {"application/json": {"schema": ref(f"Error{area}")}},
    }
    if status in (429, 503):
        seconds: Mapping[str, object] = {"type": "integer"}
        answer["headers"] = {"Retry-After": {"description": "Seconds to wait.", "schema": seconds}}
    elif status == 401:
        answer["headers"] = {"WWW-Authenticate": {"description": "RFC 6750.", "schema": {"type": "string"}}}
    return answer


def camel(name: str) -> str:
    """``auth.switch-tenant`` → ``authSwitchTenant``."""
    first, *rest = re.split(r"[._-]", name)
    return first + "".join(word[:1].upper() + word[1:] for word in rest)
