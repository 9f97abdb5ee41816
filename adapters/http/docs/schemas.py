"""JSON schemas: one for each shape, under the name it has in the code or that its entity gives it."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from adapters.http.request.endpoint import Area, Endpoint, Shown
from adapters.http.request.errors import ErrorA, ErrorB
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
    """All schemas of the description; ``components`` are those that have a name."""

    def __init__(self, endpoints: Iterable[Endpoint], registry: Registry) -> None:
        structs = list(dict.fromkeys([*_structs(endpoints), ErrorA, ErrorB]))
        fields = [(model, one) for model in registry for one in model.fields]
        types = [*structs, *(one.type for _, one in fields)]
        schemas, found = msgspec.json.schema_components(
            types, schema_hook=_anything, ref_template="#/components/schemas/{name}"
        )
        self._by_type = dict(zip(structs, schemas, strict=False))
        self._by_field = dict(zip(((m.plural, one.name) for m, one in fields), schemas[len(structs) :], strict=True))
        self._models = {model.create_form: model for model in registry}
        self.components: Json = {name: _portable(schema) for name, schema in found.items()}
        self._names = {name: _free_name(name, found) for model in registry for name in _names(model)}
        for model in registry:
            self._add_entity(model, registry)
        self.components = dict(sorted(self.components.items()))

    def of(self, struct: type[Struct]) -> Json:
        return self._by_type[struct]

    def answer(self, area: Area, shown: Shown) -> Json:
        body = self._body(area, shown)
        if shown.wrapping == "message":
            return _object({"isSuccess": {"const": True}, "message": {"type": "string"}})
        if shown.wrapping in ("bare", "other"):
            return body
        if area == "B":
            return _object({"success": {"const": True}, "data": body, "meta": _META})
        return _object({"isSuccess" if shown.wrapping == "data" else "success": {"const": True}, "data": body})

    def _body(self, area: Area, shown: Shown) -> Json:
        if shown.body is None:
            return {"type": "object"}
        if isinstance(shown.body, str):
            return ref(self._names.get(shown.body, shown.body) if area == "B" else shown.body)
        return self.of(shown.body)

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
    """``object`` takes any JSON; nothing else is left without a schema."""
    assert kind is object, kind
    return {"description": "Any JSON."}


def _structs(endpoints: Iterable[Endpoint]) -> Iterator[type[Struct]]:
    for endpoint in endpoints:
        if endpoint.body is not None:
            yield endpoint.body
        yield from (shown.body for shown in endpoint.shown if isinstance(shown.body, type))


def _object(properties: Json, required: Sequence[str] | None = None) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties if required is None else required)}


_META = _object({"timestamp": {"type": "string", "format": "date-time"}, "requestId": {"type": "string"}})


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
