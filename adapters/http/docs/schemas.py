"""Exact JSON schemas for Litestar's document, from msgspec and the entities' declarations.

Litestar's own generator loses constraints within unions.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, get_args, get_origin

import msgspec
from litestar.datastructures import UploadFile
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Schema
from litestar.params import BodyKwarg
from litestar.plugins import OpenAPISchemaPlugin
from litestar.typing import FieldDefinition
from litestar.utils.predicates import is_union
from msgspec import Meta, Struct

from adapters.http.docs.components import GUARDED, constant, correct, merged, portable, without_fields, without_modules
from adapters.http.docs.summaries import summary_schema
from adapters.http.entities.imports import IMPORT_FORM
from adapters.http.entities.parameters import DOCUMENTED
from adapters.http.entities.shapes import NamedSchema
from adapters.http.request.responses import Data, EntityData, MessageOnly, Success
from adapters.http.request.strict_request import RawBody
from application.entities.own_rows import RowsPage
from domain.entities.declaration import EntityModel, FieldModel, Registry, Relation
from domain.entities.kinds import Kind
from domain.entities.query.parameters import filter_schemas
from domain.entities.query.vocabulary import Vocabulary

Json = dict[str, Any]

NULL = {"type": "null"}
_EXAMPLES: dict[Kind, object] = {
    Kind.TEXT: "Example",
    Kind.INTEGER: 1,
    Kind.BIG_INTEGER: 1,
    Kind.DECIMAL: 19.99,
    Kind.FLOAT: 1.5,
    Kind.BOOLEAN: True,
    Kind.TIMESTAMP: "2026-11-20T12:00:00Z",
    Kind.DATE: "2026-11-20",
    Kind.UUID: "0198c0de-0000-7000-8000-000000000000",
    Kind.CHOICE: None,  # the first choice of the declaration
    Kind.UUIDS: [],
    Kind.TEXTS: [],
    Kind.LINKS: [],
}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


_META = _object({"timestamp": {"type": "string", "format": "date-time"}, "requestId": {"type": "string"}})
_ENVELOPES: dict[Any, tuple[Json, Json]] = {
    Data: ({"isSuccess": constant(True)}, {}),
    Success: ({"success": constant(True)}, {}),
    EntityData: ({"success": constant(True)}, {"meta": ref("ResponseMeta")}),
}  # properties before and after the data
_UNTYPED: Json = {"ImportForm": IMPORT_FORM, **filter_schemas()}
"""Schemas of parameters and of a form without a type in a handler."""

_TENANT = {"type": "string", "format": "uuid", "description": "Only with `X-Tenant-Scope: all`."}
_HAS_MORE = {"type": "boolean", "description": "Only with `include`: whether there are more than these."}


class UnreadableType(Exception):
    """Raised at startup if msgspec does not accept the type of a handler's body or answer."""


@dataclass
class ExactSchema(Schema):
    """A JSON schema that is added to the document unchanged."""

    exact: Json | None = None

    def to_schema(self) -> Json:
        return self.exact or {}


class ExactSchemas(OpenAPISchemaPlugin):
    """Describes the bodies and answers of published handlers; Litestar describes all other types."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._answers: dict[Any, None] = {}
        self._forms: dict[Any, None] = {}
        self._filled: Any = None  # registry with the untyped schemas
        # In an annotation, an entity's struct means the full row, including the service's fields.
        self._rows = {kind for model in registry for kind in (model.struct, RowsPage[model.struct])}  # type: ignore[name-defined]

    def publish(self, handler: HTTPRouteHandler) -> None:
        signature = handler.parsed_fn_signature
        data = signature.parameters.get("data")
        specs = [spec.data_container for spec in (handler.responses or {}).values()]
        answers = [
            part
            for kind in (signature.return_type.annotation, *specs)
            for part in _payloads(kind)
            if part not in self._rows
        ]
        forms = list(_payloads(data.annotation) if data else ())
        for kind in (*answers, *forms, *_bare_structs(signature.return_type.annotation)):
            _ensure_readable(handler, kind)
        self._answers |= dict.fromkeys(answers)
        self._forms |= dict.fromkeys(forms)

    def is_row(self, handler: HTTPRouteHandler) -> bool:
        """Return whether a project's handler answers with a single row with a version."""
        kinds = get_args(handler.parsed_fn_signature.return_type.annotation)
        return any(kind in self._versioned for kind in kinds)

    @cached_property
    def _versioned(self) -> set[Any]:
        return {EntityData[model.struct] for model in self._registry if model.has_versions}  # type: ignore[name-defined]

    @cached_property
    def schemas(self) -> "Schemas":
        """Schemas, built when the document is first requested, because all handlers are known then."""
        return Schemas(self._answers, self._forms, self._registry)

    def is_plugin_supported_field(self, field_definition: FieldDefinition) -> bool:
        kind = field_definition.annotation
        if get_origin(kind) in (*_ENVELOPES, RowsPage) or kind is MessageOnly:
            return True
        is_known = kind in self._answers or kind in self._forms
        return isinstance(kind, type) and (is_known or issubclass(kind, NamedSchema | RawBody))

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: Any) -> Any:
        """Return the exact schema; add the named schemas in it to the components."""
        exact = self.schemas.of(field_definition.annotation)
        self._add_referred(exact, schema_creator.schema_registry)
        if schema_creator.schema_registry is not self._filled:
            # Litestar's registry does not see the references to these schemas, so add them here.
            self._filled = schema_creator.schema_registry
            self._add_referred([ref(name) for name in _UNTYPED], self._filled)
        return ExactSchema(exact=exact)

    def _add_referred(self, schema: Json | list[Json], registry: Any) -> None:
        for name in _references(schema):
            field = FieldDefinition.from_kwarg(object, name, kwarg_definition=BodyKwarg(schema_component_key=name))
            if registry.get_reference_for_field_definition(field) is None:
                exact = self.schemas.components[name]
                # The registry offers no other way to change the schema.
                registry.get_schema_for_field_definition(field).to_schema = lambda exact=exact: exact
                self._add_referred(exact, registry)


def _payloads(kind: Any) -> Iterator[Any]:
    """Yield the types for msgspec: structs and the contents of envelopes, except the named schemas of entities."""
    if isinstance(kind, type) and issubclass(kind, RawBody | Struct):
        yield kind.form if issubclass(kind, RawBody) else kind
    elif get_origin(kind) in _ENVELOPES:
        parts = (get_args(part) if is_union(part) else (part,) for part in get_args(kind))
        yield from (part for part in chain(*parts) if not (isinstance(part, type) and issubclass(part, NamedSchema)))
    else:
        for part in get_args(kind):
            yield from _payloads(part)


def _ensure_readable(handler: HTTPRouteHandler, kind: Any) -> None:
    """Raises UnreadableType for a type that msgspec would refuse at each request."""
    try:
        msgspec.json.Decoder(kind)
    except TypeError as error:
        remedy = (
            ": bounds stand inside of `| None`, as in Annotated[str, Meta(…)] | None" if "None" in str(error) else ""
        )
        name = kind.__name__ if isinstance(kind, type) else kind
        raise UnreadableType(f"{handler} accepts or answers {name}: {error}{remedy}") from None


def _bare_structs(kind: Any) -> Iterator[type[Struct]]:
    """Yield the structs outside envelopes. There, an entity's struct means its declaration, not a row."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        yield kind
    elif get_origin(kind) not in _ENVELOPES:
        for part in get_args(kind):
            yield from _bare_structs(part)


def _references(schema: Json | list[Json]) -> list[str]:
    return re.findall(r'"#/components/schemas/([^"]+)"', msgspec.json.encode(schema).decode())


class Schemas:
    """Schemas of ``types`` and of all entities; ``components`` are the named ones."""

    def __init__(self, answers: Iterable[Any], forms: Iterable[Any], registry: Registry) -> None:
        own_forms = [form for model in registry for form in (model.create_form, model.update_form)]
        internal = registry.internal.values() if any(model.attachments for model in registry) else ()
        shown = [*registry, *internal]
        rows = [_row(model) for model in shown]
        sent = list(dict.fromkeys([*forms, *own_forms]))
        asked = [*answers, *sent, *rows]
        made = msgspec.json.schema_components(
            asked, schema_hook=_schema_of_other, ref_template="#/components/schemas/{name}"
        )
        schemas, found = without_modules(*made)
        self._by_type: dict[Any, Json] = dict(zip(asked, schemas, strict=True))
        self._models: dict[type[Struct] | None, EntityModel] = {model.create_form: model for model in registry}
        correct(found, answers, sent)
        found |= {"ResponseMeta": _META, **_UNTYPED}
        self.components: Json = portable(found)
        self._properties = {
            model: self.components.pop(row.__name__)["properties"] for model, row in zip(shown, rows, strict=True)
        }
        # Rename an entity with the name of a schema of the service.
        names = (name for model in shown for name in (model.name, f"{model.name}Page"))
        self._names = {name: f"{name}Entity" if name in found else name for name in names}
        for model in registry:
            self._add_entity(model, registry)
        for model in internal:
            name = self._names[model.name]
            self.components[name] = {"title": name, **_object(self._properties[model])}

    def of(self, kind: Any) -> Json:
        """Return the schema of a published type, an entity's row or shape, a body, or an envelope around one."""
        if get_origin(kind) in _ENVELOPES:
            before, after = _ENVELOPES[get_origin(kind)]
            return _object(before | {"data": self.of(get_args(kind)[0])} | after)
        if kind is MessageOnly:
            return _object({"isSuccess": {"const": True}, "message": {"type": "string"}})
        if isinstance(kind, type) and issubclass(kind, NamedSchema):
            return ref(self._names.get(kind.__name__, kind.__name__))
        if is_union(kind):
            return merged(self.components[part.__name__] for part in get_args(kind))
        is_raw = isinstance(kind, type) and issubclass(kind, RawBody)
        return self._by_type[kind.form if is_raw else kind]

    def example(self, form: type[Struct] | None) -> Json | None:
        """Return an example of a valid body; None if none can be generated."""
        if (model := self._models.get(form)) is None:
            return None
        columns = self._properties[model]
        sent = [field for field in model.declared if field.reference is None and (field.required or not field.nullable)]
        return {field.wire: self._example_of(model, field) for field in sent if field.wire in columns}

    def _example_of(self, model: EntityModel, field: FieldModel) -> object:
        given = self._properties[model][field.wire].get("examples") or field.choices
        return given[0] if given else _EXAMPLES[field.kind]

    def _add_entity(self, model: EntityModel, registry: Registry) -> None:
        columns, seen = self._properties[model], Vocabulary(registry, model, registry.hidden_from(DOCUMENTED))
        hidden = columns.keys() - {field.wire for field in seen.visible(model)}
        for name in (model.create_form.__name__, model.update_form.__name__, f"{model.name}BatchItem"):
            if (form := self.components.get(name)) is not None:
                without_fields(form, hidden)
                for field in model.declared:
                    if field.money is not None and field.wire not in hidden:
                        form["properties"][field.wire] = _with_text(columns[field.wire])
        for name in hidden:
            del columns[name]
        single, page = self._names[model.name], self._names[f"{model.name}Page"]
        # Handlers of a project write `EntityData[Product]` for a row and `EntityData[RowsPage[Product]]` for a page.
        self._by_type |= {model.struct: ref(single), RowsPage[model.struct]: ref(page)}  # type: ignore[name-defined]
        relations = [model.relations[name] for name in seen.relation_names(model)]
        row = self._shown_row(model, columns, relations, registry)
        if hidden or len(relations) < len(model.relations):
            row["additionalProperties"] = GUARDED
        named = {single: row, page: _page(ref(single))}
        named[f"{model.name}Export"] = items = {"type": "array", "items": ref(single)}
        named[f"{model.name}SummaryData"] = summary_schema(seen.visible(model))
        named |= _batches(model, items) if model.declaration.writable else {}
        self.components |= {name: {"title": name, **schema} for name, schema in named.items()}

    def _shown_row(self, model: EntityModel, columns: Json, relations: list[Relation], registry: Registry) -> Json:
        tenant = {"tenantId": _TENANT} if model.tenant_owned else {}
        row: Json = {"type": "object", "properties": tenant | columns, "required": ["id"]}
        for relation in relations:
            row["properties"] |= self._related(relation, registry)
        return row

    def _related(self, relation: Relation, registry: Registry) -> Json:
        target, text = ref(self._names[registry.target(relation).name]), "Only with `include`."
        if not relation.is_many:
            return {relation.name: {"anyOf": [target, NULL], "description": text}}
        rows = {"type": "array", "items": target, "maxItems": 100, "description": text}
        return {relation.name: rows, f"{relation.name}HasMore": _HAS_MORE}


def _batches(model: EntityModel, items: Json) -> Json:
    done, each = {"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 0}
    answers = {
        "Created": {"created": done},
        "Updated": {"updated": done},
        "Upserted": {"created": each, "updated": each},
    }
    return {f"{model.name}Batch{name}": _object({**counts, "items": items}) for name, counts in answers.items()}


def _row(model: EntityModel) -> type[Struct]:
    """Return the struct of a row, such as ``Product_row``. No declaration can have this name."""
    return msgspec.defstruct(f"{model.name}_row", [(field.wire, _shown_type(field)) for field in model.fields])


def _shown_type(field: FieldModel) -> Any:
    """Return the field's type in answers, where decimals are JSON numbers, exact to their scale."""
    if (money := field.money) is None:
        return field.type
    text = f"At most {money.precision - money.scale} digits before the point and {money.scale} after it."
    bounds: Json = {name: float(bound) for name, bound in (("ge", money.ge), ("le", money.le)) if bound is not None}
    number: Any = Annotated[float, Meta(**bounds, description=text, examples=[19.99])]
    return number | None if field.nullable else number


def _with_text(number: Json) -> Json:
    """Return the schema of a decimal in a body: the decimal may also be text."""
    kinds = number.get("anyOf", [number])
    return {"anyOf": [kinds[0], {"type": "string", "format": "decimal"}, *kinds[1:]]}


def _page(item: Json) -> Json:
    whole, yes = {"type": "integer", "minimum": 0}, {"type": "boolean"}
    total = {"anyOf": [whole, NULL]}
    number = whole | {"description": "The page that was asked for; 1 with a `cursor`."}
    counts = {"page": number, "pageSize": whole, "totalCount": total, "totalPages": total}
    page = _object({"items": {"type": "array", "items": item}, **counts, "hasNextPage": yes, "hasPreviousPage": yes})
    page["properties"] |= {
        "nextCursor": {"type": "string", "description": "The `cursor` of the next page, where there is one."},
        "totalCountIsEstimate": constant(True) | {"description": "Only where `totalCount` is estimated."},
    }
    return page


def _schema_of_other(kind: type) -> Json:
    if issubclass(kind, UploadFile):
        return {"type": "string", "format": "binary"}
    assert kind is object, kind
    return {"description": "Any JSON."}
