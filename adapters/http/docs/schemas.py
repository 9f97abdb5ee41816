"""JSON schemas: one for each shape, under the name it has in the code or that its entity gives it."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, get_args, get_origin

import msgspec
from litestar.datastructures import UploadFile
from msgspec import Struct

from adapters.http.entities.shapes import Shape
from adapters.http.request.responses import Data, EntityData, Message, Success
from adapters.http.request.strict_request import RawBody
from domain.entities.declaration import EntityModel, FieldModel, Kind, Money, Registry, Relation

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
    Kind.UUIDS: [],
    Kind.TEXTS: [],
}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


class Schemas:
    """Exact schemas of ``types`` and of all entities; ``components`` are those that have a name."""

    def __init__(self, types: Iterable[Any], registry: Registry) -> None:
        published = list(types)
        fields = [(model, field) for model in registry for field in model.fields]
        forms = [form for model in registry for form in (model.create_form, model.update_form)]
        asked = [*published, *forms, *(field.type for _, field in fields)]
        schemas, found = msgspec.json.schema_components(
            asked, schema_hook=_anything, ref_template="#/components/schemas/{name}"
        )
        self._by_type = dict(zip([*published, *forms], schemas, strict=False))
        by_field = schemas[len(published) + len(forms) :]
        self._by_field = dict(zip(((m.plural, field.name) for m, field in fields), by_field, strict=True))
        self._models = {model.create_form: model for model in registry}
        self.components: Json = {name: _portable(schema) for name, schema in found.items()}
        self._names = {name: _free_name(name, found) for model in registry for name in _names(model)}
        for model in registry:
            self._add_entity(model, registry)

    def of(self, kind: Any) -> Json:
        """Schema of a published type, of an entity's shape, of a body, or of an envelope around one of them."""
        origin = get_origin(kind)
        if origin is not None and origin in _ENVELOPES:
            return _object(_ENVELOPES[origin] | {"data": self.of(get_args(kind)[0])} | _more(origin))
        if kind is Message:
            return _object({"isSuccess": {"const": True}, "message": {"type": "string"}})
        if isinstance(kind, type) and issubclass(kind, Shape):
            return ref(self._names.get(kind.__name__, kind.__name__))
        if isinstance(kind, type) and issubclass(kind, RawBody):
            return self._by_type[kind.form]
        return self._by_type[kind]

    def example(self, form: type[Struct]) -> Json | None:
        """A body that would be taken; None where one cannot be made up."""
        model = self._models.get(form)
        if model is None:
            return None
        shown = [one for one in model.declared if one.reference is None and (one.required or not one.nullable)]
        return {one.wire: self._example_of(model, one) for one in shown}

    def _example_of(self, model: EntityModel, one: FieldModel) -> object:
        given = self._by_field[model.plural, one.name].get("examples")
        if given:
            return given[0]
        return one.choices[0] if one.choices else _EXAMPLES.get(one.kind)

    def _add_entity(self, model: EntityModel, registry: Registry) -> None:
        for name in (model.create_form.__name__, model.update_form.__name__, f"{model.name}BatchItem"):
            if name in self.components:
                _fix_money(self.components[name]["properties"], model)
        properties = {one.wire: self._shown_field(model, one) for one in model.fields}
        required = list(properties)
        properties |= {one.name: self._shown_relation(one, registry) for one in model.relations.values()}
        single, page = (self._names[name] for name in _names(model))
        self.components[single] = {"title": single, **_object(properties, required)}
        self.components[page] = {"title": page, **_page(ref(single))}
        export = f"{model.name}Export"
        self.components[export] = {"title": export, "type": "array", "items": ref(single)}
        for done in ("created", "updated") if model.declaration.writable else ():
            batch = f"{model.name}Batch{done.title()}"
            self.components[batch] = {"title": batch, **_batch(done, ref(single))}

    def _shown_relation(self, relation: Relation, registry: Registry) -> Json:
        target = ref(self._names[registry.target(relation).name])
        text = "Only with `include`."
        if relation.is_many:
            return {"type": "array", "items": target, "maxItems": 100, "description": text}
        return _nullable(target, True) | {"description": text}

    def _shown_field(self, model: EntityModel, one: FieldModel) -> Json:
        if one.money is None:
            schema: Json = _portable(self._by_field[model.plural, one.name])
            return schema
        return _nullable(_number(one.money), one.nullable)


def _names(model: EntityModel) -> tuple[str, str]:
    """Of the schema of a row, and of a page of them."""
    return model.name, f"{model.name}Page"


def _free_name(name: str, taken: Container[str]) -> str:
    """An entity gives way to a schema of the service's own."""
    return f"{name}Entity" if name in taken else name


def _batch(done: str, item: Json) -> Json:
    return _object({done: {"type": "integer", "minimum": 1}, "items": {"type": "array", "items": item}})


def _anything(kind: type) -> Json:
    """Schema of ``object``, which is any JSON, and of a file in a form; nothing else is left without a schema."""
    if issubclass(kind, UploadFile):
        return {"type": "string", "format": "binary"}
    assert kind is object, kind
    return {"description": "Any JSON."}


def _object(properties: Json, required: Sequence[str] | None = None) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties if required is None else required)}


_META = _object({"timestamp": {"type": "string", "format": "date-time"}, "requestId": {"type": "string"}})


_ENVELOPES: dict[Any, Json] = {
    Data: {"isSuccess": {"const": True}},
    Success: {"success": {"const": True}},
    EntityData: {"success": {"const": True}},
}


def _more(envelope: Any) -> Json:
    return {"meta": _META} if envelope is EntityData else {}


def _page(item: Json) -> Json:
    whole = {"type": "integer", "minimum": 0}
    return _object(
        {
            "items": {"type": "array", "items": item},
            "page": whole,
            "pageSize": whole,
            "totalCount": _nullable(whole, True),
            "totalPages": _nullable(whole, True),
            "hasNextPage": {"type": "boolean"},
            "hasPreviousPage": {"type": "boolean"},
        }
    )


def _nullable(schema: Mapping[str, Any], may_be_null: bool) -> Json:
    return {"anyOf": [schema, NULL]} if may_be_null else dict(schema)


def _number(money: Money) -> Json:
    """Decimals are JSON numbers, exact to their scale."""
    text = f"At most {money.precision - money.scale} digits before the point and {money.scale} after it."
    schema: Json = {"type": "number", "description": text, "examples": [19.99]}
    if money.ge is not None:
        schema["minimum"] = float(money.ge)
    if money.le is not None:
        schema["maximum"] = float(money.le)
    return schema


def _fix_money(properties: Json, model: EntityModel) -> None:
    """A body may carry a decimal as text too."""
    text = {"type": "string", "format": "decimal"}
    for one in model.declared:
        if one.money is not None:
            kinds = [_number(one.money), text, *([NULL] if one.nullable else [])]
            properties[one.wire] = {"anyOf": kinds}


def _portable(schema: Any) -> Any:
    """What msgspec says in Python's words, in those of JSON Schema."""
    if isinstance(schema, dict):
        return {name: _portable(value) for name, value in schema.items()}
    if isinstance(schema, list):
        return [_portable(value) for value in schema]
    return schema.replace("\\Z", "$") if isinstance(schema, str) else schema
