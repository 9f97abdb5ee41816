"""Msgspec's schemas of structs, corrected to the actual content of requests and answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

import msgspec
from msgspec import NODEFAULT, UNSET
from msgspec.inspect import DictType, ListType, StructType, Type, UnionType, VarTupleType

from adapters.http.request.errors import STATUS, code_in
from adapters.http.request.rules import NO_SESSION, Area

Json = dict[str, Any]

_OF_LOGIN = {*NO_SESSION, "ACCOUNT_LOCKED", "INVALID_CREDENTIALS"}
_ROW = {"type": "integer", "minimum": 1, "description": "The row of a file that was imported; its header is row 1."}
_DETAILS = {
    "type": "array",
    "items": {"$ref": "#/components/schemas/FieldError"},
    "description": "The errors of the row's fields, each with its own message. Only with `row`.",
}
GUARDED: Json = {
    "description": "Fields and relations that need a permission to be read. `GET /api/entities` describes those that "
    "you may read."
}
"""Schema of row members that the public document does not name."""


def constant(value: bool) -> Json:
    return {"type": "boolean", "const": value}


def codes_of(area: Area) -> list[str]:
    """Return an area's error codes, sorted and in the spelling of its responses."""
    return sorted({code_in(area, code) for code in STATUS if area == "A" or code not in _OF_LOGIN})


def correct(components: Json, answers: Iterable[Any], forms: Iterable[Any]) -> None:
    """Describe the defaults of bodies in words, require the members that answers always have, and name error codes."""
    sent, answered = _structs(forms), _structs(answers)
    for name in sent.keys() & components.keys():
        for schema in components[name].get("properties", {}).values():
            _body(schema, is_answered=name in answered)
    for name, struct in answered.items():
        if name in components and name not in sent:
            _answer(components[name], struct)
    _errors(components)


def _body(schema: Json, is_answered: bool) -> None:
    """Describe the default of a body's field in words, because client generators assume that a field with ``default``
    is always present.

    A struct that is also an answer retains its defaults, because an answer always has these fields.
    """
    default = schema.get("default", UNSET)
    if default is None:
        del schema["default"]
    elif default is not UNSET and not is_answered:
        schema |= with_default(schema.pop("default"), schema.get("description"))


def with_default(value: object, text: str | None = None) -> Json:
    """Return the description of a body's optional field: ``text``, and the value of the field if it is omitted."""
    told = f"Default: `{msgspec.json.encode(value).decode()}`."
    return {"description": f"{text} {told}" if text else told}


def _answer(schema: Json, struct: StructType) -> None:
    """Require an answer's fields with a default, unless the struct omits defaults."""
    leaves_out = struct.cls.__struct_config__.omit_defaults
    required = []
    for field in struct.fields:
        schema["properties"][field.encode_name].pop("default", None)
        # A field with the default UNSET may be absent. msgspec reports it as without a default.
        is_unset = field.default is NODEFAULT and field.default_factory is NODEFAULT
        if field.required or not (leaves_out or is_unset):
            required.append(field.encode_name)
        if field.encode_name == "at" or field.encode_name.endswith("At"):
            _moment(schema["properties"][field.encode_name])
    schema["required"] = required


def _moment(schema: Json) -> None:
    """Mark the string type as a timestamp."""
    for part in schema.get("anyOf", [schema]):
        if part == {"type": "string"}:
            part["format"] = "date-time"


def _errors(components: Json) -> None:
    """Complete the error envelopes of the areas in use."""
    if "ErrorA" in components:
        components["ErrorA"]["properties"]["isSuccess"] = constant(False)
        components["ErrorA"]["properties"]["errorCode"] = {"type": "string", "enum": codes_of("A")}
    if "ErrorB" in components:
        components["ErrorB"]["properties"]["success"] = constant(False)
        components["ErrorDetail"]["properties"]["code"] = {"type": "string", "enum": codes_of("B")}
        components["FieldError"]["properties"] |= {"row": _ROW, "details": _DETAILS}


def without_fields(schema: Json, names: Iterable[str]) -> None:
    """Remove fields from the schema of a body, and allow other fields in it."""
    taken = [name for name in names if schema["properties"].pop(name, None) is not None]
    if taken:
        schema["required"] = [name for name in schema["required"] if name not in taken]
        schema.pop("additionalProperties", None)


def merged(schemas: Iterable[Json]) -> Json:
    """Merge schemas of several objects into one; it requires their common members, each of any of their types."""
    parts = list(schemas)
    kinds: dict[str, list[Json]] = {}
    for name, schema in (pair for part in parts for pair in part["properties"].items()):
        kinds.setdefault(name, []).append(schema)
    properties = {name: _any_of(found) for name, found in kinds.items()}
    required = [name for name in properties if all(name in part["required"] for part in parts)]
    return {"type": "object", "properties": properties, "required": required}


def _any_of(schemas: list[Json]) -> Json:
    different = [schema for at, schema in enumerate(schemas) if schema not in schemas[:at]]
    return different[0] if len(different) == 1 else {"anyOf": different}


def _structs(kinds: Iterable[Any]) -> Mapping[str, StructType]:
    found: dict[str, StructType] = {}
    for kind in msgspec.inspect.multi_type_info(list(kinds)):
        for struct in _structs_in(kind, set()):
            found[struct.cls.__name__] = struct
    return found


def _structs_in(kind: Type, seen: set[type]) -> Iterator[StructType]:
    if isinstance(kind, StructType):
        if kind.cls not in seen:
            seen.add(kind.cls)
            yield kind
            for field in kind.fields:
                yield from _structs_in(field.type, seen)
    elif isinstance(kind, ListType | VarTupleType):
        yield from _structs_in(kind.item_type, seen)
    elif isinstance(kind, DictType):
        yield from _structs_in(kind.value_type, seen)
    elif isinstance(kind, UnionType):
        for part in kind.types:
            yield from _structs_in(part, seen)


def without_modules(schemas: Sequence[Json], found: Json) -> tuple[Sequence[Json], Json]:
    """Rename components to plain names where msgspec prefixes modules to distinguish equal names: `shop.Status`.

    The first type with a name retains it; the others get a number: `Status2`.
    """
    names: dict[str, str] = {}
    for name in found:
        plain = name.rpartition(".")[2]
        numbered = chain([plain], (f"{plain}{number}" for number in count(2)))
        names[name] = next(free for free in numbered if free == name or free not in {*found, *names.values()})
    if all(name == plain for name, plain in names.items()):
        return schemas, found
    text = msgspec.json.encode([schemas, {names[name]: schema for name, schema in found.items()}]).decode()
    for name, plain in names.items():
        if name != plain:
            text = text.replace(f'"#/components/schemas/{name}"', f'"#/components/schemas/{plain}"')
    renamed, components = msgspec.json.decode(text)
    return renamed, components


def portable(schemas: Json) -> Json:
    """Convert msgspec's Python patterns to JSON Schema, with `$` for the end."""
    portable: Json = msgspec.json.decode(msgspec.json.encode(schemas).replace(rb"\\Z", b"$"))
    return portable
