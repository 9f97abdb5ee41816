"""JSON schema of a summary."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from domain.entities.declaration import FieldModel
from domain.entities.kinds import TIMES, Kind
from domain.entities.query.read_summary import GROUPED, MEASURED
from domain.entities.query.summary import MAX_GROUPS, Function

Json = dict[str, Any]

_COUNT: Json = {"type": "integer", "minimum": 0}


def summary_schema(fields: Iterable[FieldModel]) -> Json:
    """Return the schema of an answer: a property for each field of the entity, a type for those of relations."""
    fields = list(fields)
    group: Json = {"key": _members(fields, GROUPED, _key, _either("string", "boolean")), "count": _COUNT}
    for function, kinds in MEASURED.items():
        group[function.value] = _members(fields, kinds, *_VALUES[function])
    measured = "The members are those that `group` and `measures` name, such as `customer.name`."
    groups = {"type": "object", "properties": group, "required": ["key"], "description": measured}
    answer = {
        "groups": {"type": "array", "items": groups, "maxItems": MAX_GROUPS},
        "truncated": {"type": "boolean", "description": "Whether there are more groups than `limit`."},
        "timeZone": {"type": "string", "description": "The time zone of days and longer periods: the tenant's."},
    }
    return {"type": "object", "properties": answer, "required": list(answer)}


def _members(
    fields: Iterable[FieldModel], kinds: frozenset[Kind], schema: Callable[[FieldModel], Json], other: Json
) -> Json:
    members = {field.wire: schema(field) for field in fields if field.kind in kinds}
    return {"type": "object", "properties": members, "additionalProperties": other}


def _either(*types: str) -> Json:
    return {"type": [*types, "null"]}


def _key(field: FieldModel) -> Json:
    if field.kind is Kind.BOOLEAN:
        return _either("boolean")
    text = _either("string")
    if field.kind is Kind.CHOICE:
        return text | {"description": f"One of: {', '.join(field.choices)}, or a former value."}
    if field.kind is Kind.UUID:
        return text | {"format": "uuid"}
    return text | {"format": "date"} if field.kind in TIMES else text


def _extreme(field: FieldModel) -> Json:
    if field.kind not in TIMES:
        return _either("number")
    return _either("string") | {"format": "date" if field.kind is Kind.DATE else "date-time"}


_VALUES: Mapping[Function, tuple[Callable[[FieldModel], Json], Json]] = {
    Function.SUM: (lambda _: _either("number"), _either("number")),
    Function.AVG: (lambda _: _either("number"), _either("number")),
    Function.MIN: (_extreme, _either("number", "string")),
    Function.MAX: (_extreme, _either("number", "string")),
    Function.DISTINCT: (lambda _: _COUNT, _COUNT),
}
