"""Rules of a field's values as data, derived from the type for bodies."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from msgspec.inspect import FloatType, IntType, ListType, Metadata, StrType, Type, UnionType, type_info

from domain.entities.declaration import FieldModel
from domain.entities.markers import Money

_NUMBER = {
    "ge": "minimum",
    "le": "maximum",
    "gt": "exclusive_minimum",
    "lt": "exclusive_maximum",
    "multiple_of": "multiple_of",
}
_TEXT = {"min_length": "min_length", "max_length": "max_length", "pattern": "pattern"}


def rules_of(field: FieldModel) -> Mapping[str, Any]:
    """Return rules by JSON Schema's words in Python's spelling: ``{"precision": 12, "scale": 2, "minimum": 0}``."""
    rules: dict[str, object] = {}
    if field.money is not None:
        rules |= _of_money(field.money)
    if field.choices:
        rules["choices"] = list(field.choices)
    for part in _parts(type_info(field.type)):
        rules |= _of_type(part)
    return rules


def _of_money(money: Money) -> dict[str, object]:
    bounds = {"minimum": money.ge, "maximum": money.le}
    told = {name: _plain(bound) for name, bound in bounds.items() if bound is not None}
    return {"precision": money.precision, "scale": money.scale, **told}


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _of_type(part: Type) -> dict[str, object]:
    words = _NUMBER if isinstance(part, IntType | FloatType) else _TEXT if isinstance(part, StrType | ListType) else {}
    told = {word: getattr(part, name, None) for name, word in words.items()}
    if isinstance(told.get("pattern"), str):
        # JSON Schema writes the end of a text as ``$``.
        told["pattern"] = str(told["pattern"]).replace(r"\Z", "$")
    return {word: value for word, value in told.items() if value is not None}


def _parts(kind: Type) -> Iterator[Type]:
    if isinstance(kind, Metadata):
        yield from _parts(kind.type)
    elif isinstance(kind, UnionType):
        for part in kind.types:
            yield from _parts(part)
    else:
        yield kind
