"""Litestar's OpenAPI document with what it cannot know by itself: exact schemas, and what follows from the rules."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, get_args, get_origin

from litestar.enums import HttpMethod, ParamType
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Components, OpenAPIHeader, Operation, Schema, SecurityScheme
from litestar.params import BodyKwarg, ParameterKwarg
from litestar.plugins import OpenAPISchemaPlugin
from litestar.typing import FieldDefinition
from msgspec import Struct

from adapters.http.docs.operations import LIMIT_HEADERS, describe
from adapters.http.docs.schemas import Schemas
from adapters.http.docs.shared_parameters import share_parameters
from adapters.http.entities.shapes import Shape
from adapters.http.request.responses import Data, EntityData, Message, Success
from adapters.http.request.rules import Rules
from adapters.http.request.strict_request import RawBody
from domain.entities.declaration import Registry

Json = dict[str, Any]

ENVELOPES = (Data, Success, EntityData)
BEARER = SecurityScheme(
    type="http",
    scheme="bearer",
    bearer_format="JWT",
    description="The token that login, refresh and switch-tenant answer with.",
)


def shared_components() -> Components:
    """The security scheme, and the headers of every response that counts a limit."""
    headers = {
        name: LimitHeader(description=text, schema=ExactSchema(exact={"type": "integer"}))
        for name, text in LIMIT_HEADERS.items()
    }
    return Components(security_schemes={"bearer": BEARER}, headers=dict(headers))


class LimitHeader(OpenAPIHeader):
    """A header without the flags that Litestar writes into each."""

    def to_schema(self) -> Json:
        return {name: value for name, value in super().to_schema().items() if value is not False}


@dataclass
class ExactSchema(Schema):
    """A JSON schema that goes into the document as it is."""

    exact: Json | None = None

    def to_schema(self) -> Json:
        return self.exact or {}


class ExactSchemas(OpenAPISchemaPlugin):
    """Schemas by msgspec and from the entities' declarations; Litestar's generator loses constraints in unions."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._published: dict[Any, None] = {}

    def publish(self, handler: HTTPRouteHandler) -> None:
        """Describes the structs that a handler takes and answers with exactly, and all that they refer to."""
        signature = handler.parsed_fn_signature
        data = signature.parameters.get("data")
        specs = [spec.data_container for spec in (handler.responses or {}).values()]
        for kind in [signature.return_type.annotation, *([data.annotation] if data else []), *specs]:
            self._published |= dict.fromkeys(_payloads(kind))

    @cached_property
    def schemas(self) -> Schemas:
        """Made when the document is first asked for, when all handlers are known."""
        return Schemas(self._published, self._registry)

    def is_plugin_supported_field(self, field_definition: FieldDefinition) -> bool:
        kind = field_definition.annotation
        if get_origin(kind) in ENVELOPES or kind is Message:
            return True
        return isinstance(kind, type) and (kind in self._published or issubclass(kind, Shape | RawBody))

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: Any) -> Any:
        """The exact schema; the named schemas that it refers to are added to the components."""
        exact = self.schemas.of(field_definition.annotation)
        for name in _references(exact):
            self._add(name, schema_creator.schema_registry)
        return ExactSchema(exact=exact)

    def _add(self, name: str, registry: Any) -> None:
        field = FieldDefinition.from_kwarg(object, name, kwarg_definition=BodyKwarg(schema_component_key=name))
        if registry.get_reference_for_field_definition(field) is not None:
            return
        schema, exact = registry.get_schema_for_field_definition(field), self.schemas.components[name]
        for key, value in exact.items():
            setattr(schema, _ATTRIBUTES[key], _exactly(key, value))
        for other in _references(exact):
            self._add(other, registry)


def _payloads(kind: Any) -> Iterator[Any]:
    """Types to be described: structs, and whatever stands in an envelope but is no entity's shape."""
    if isinstance(kind, type) and issubclass(kind, RawBody):
        yield kind.form
    elif isinstance(kind, type) and issubclass(kind, Struct):
        yield kind
    elif get_origin(kind) in ENVELOPES:
        yield from (part for part in get_args(kind) if not (isinstance(part, type) and issubclass(part, Shape)))
    else:
        for part in get_args(kind):
            yield from _payloads(part)


def _exactly(key: str, value: Any) -> Any:
    if key == "properties":
        return {name: ExactSchema(exact=schema) for name, schema in value.items()}
    return ExactSchema(exact=value) if isinstance(value, dict) else value


def _attributes() -> dict[str, str]:
    """Attributes of Litestar's Schema by their names in JSON: ``anyOf`` → ``any_of``."""
    named = ((field.metadata.get("alias"), field.name) for field in fields(Schema))
    return {alias or camel(name): name for alias, name in named}


def _references(schema: object) -> Iterable[str]:
    if isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference.rpartition("/")[2]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def query_names(handler: HTTPRouteHandler) -> frozenset[str]:
    """Names of the query parameters that a handler and its dependencies declare."""
    takers: list[Any] = [handler, *handler.resolve_dependencies().values()]
    found = [field for taker in takers for field in taker.parsed_fn_signature.parameters.values()]
    return frozenset(name for field in found if (name := _query_name(field)))


def _query_name(field: FieldDefinition) -> str | None:
    kwarg = field.kwarg_definition
    if not isinstance(kwarg, ParameterKwarg) or kwarg.param_type != ParamType.QUERY:
        return None
    return kwarg.query or kwarg.name or field.name


def operation_class(handler: HTTPRouteHandler, rules: Rules, exact: ExactSchemas) -> type[Operation]:
    """The operation of a handler, told with its parameters, errors, permission and limit."""

    class RulesOperation(handler.operation_class):  # type: ignore[name-defined,misc]
        def to_schema(self) -> Json:
            return describe(super().to_schema(), handler, rules, exact.schemas)

    return RulesOperation


OperationId = Callable[[HTTPRouteHandler, HttpMethod, list[Any]], str]


def operation_id(given: str | OperationId | None, default: OperationId) -> OperationId:
    """``auth.switch-tenant`` → ``authSwitchTenant``; a handler without a name has Litestar's id.

    The same handler answers GET and HEAD, and ids are unique.
    """

    def made(handler: HTTPRouteHandler, method: HttpMethod, parts: list[Any]) -> str:
        if callable(given):
            name = given(handler, method, parts)
        else:
            name = given or (camel(handler.name) if handler.name else default(handler, method, parts))
        return f"{name}Head" if method == HttpMethod.HEAD else name

    return made


def finished(document: Json) -> Json:
    """The service's own document: without HEAD, paths in camel case, repeated parameters once."""
    document["paths"] = {
        re.sub(r"{(\w+)}", lambda found: "{" + camel(found[1]) + "}", path): _finished_item(item)
        for path, item in document["paths"].items()
    }
    share_parameters(document)
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    tags = dict.fromkeys(tag for operation in operations for tag in operation.get("tags", ()))
    return document | {"tags": [{"name": tag} for tag in tags]}


def _finished_item(item: Json) -> Json:
    item.pop("head", None)
    for operation in item.values():
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "path":
                parameter["name"] = camel(parameter["name"])
    return item


def camel(name: str) -> str:
    """``auth.switch-tenant`` → ``authSwitchTenant``."""
    first, *rest = re.split(r"[._-]", name)
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


_ATTRIBUTES = _attributes()
