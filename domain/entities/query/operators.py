"""Operators of each kind of field, and bounds such as ``minPrice``.

The one table for validation, SQL, the memory adapter and OpenAPI.
"""

from collections.abc import Mapping

from msgspec import Struct

from domain.entities.declaration import EntityModel, FieldModel, Kind
from domain.entities.query.query import Operator

_SAME = (Operator.EQ, Operator.NE, Operator.IN, Operator.IS_NULL)
_ORDERED = (*_SAME, Operator.GT, Operator.GTE, Operator.LT, Operator.LTE)
_TEXT = (*_ORDERED, Operator.CONTAINS, Operator.STARTS_WITH, Operator.ENDS_WITH)

OPERATORS: Mapping[Kind, tuple[Operator, ...]] = {
    Kind.TEXT: _TEXT,
    Kind.INTEGER: _ORDERED,
    Kind.BIG_INTEGER: _ORDERED,
    Kind.DECIMAL: _ORDERED,
    Kind.FLOAT: _ORDERED,
    Kind.BOOLEAN: _SAME,
    Kind.TIMESTAMP: _ORDERED,
    Kind.DATE: _ORDERED,
    Kind.UUID: _SAME,
    Kind.CHOICE: _SAME,
    Kind.UUIDS: (Operator.IS_NULL,),
    Kind.TEXTS: (Operator.IS_NULL,),
}

BY_NAME: Mapping[str, Operator] = {operator.value.lower(): operator for operator in Operator}
PARTS = frozenset({Operator.CONTAINS, Operator.STARTS_WITH, Operator.ENDS_WITH})
"""Operators that look for a part of a text, always without regard to case."""

_TIMES = frozenset({Kind.TIMESTAMP, Kind.DATE})
_NUMBERS = frozenset({Kind.INTEGER, Kind.BIG_INTEGER, Kind.DECIMAL, Kind.FLOAT})


class Bound(Struct, frozen=True):
    """Another spelling of an operator.

    Examples: ``minPrice=10`` is ``price.gte=10``; ``createdBefore=2026-11-20`` is ``createdAt.lt=2026-11-20``.
    """

    prefix: str
    suffix: str
    operator: Operator
    kinds: frozenset[Kind]

    def name(self, wire: str) -> str:
        """The parameter for the property ``wire``: ``minPrice`` for ``price``."""
        return f"{self.prefix}{wire[:1].upper()}{wire[1:]}" if self.prefix else f"{wire}{self.suffix}"

    def property_in(self, word: str) -> str | None:
        """The property in a lower-case parameter name (``price`` for ``minprice``), None for another form of name."""
        prefix, suffix = self.prefix, self.suffix.lower()
        if not (word.startswith(prefix) and word.endswith(suffix)):
            return None
        return word[len(prefix) : len(word) - len(suffix)]


BOUNDS = (
    Bound("min", "", Operator.GTE, _NUMBERS | _TIMES),
    Bound("max", "", Operator.LTE, _NUMBERS | _TIMES),
    Bound("", "After", Operator.GTE, _TIMES),
    Bound("", "Before", Operator.LT, _TIMES),
)


def is_sortable(field: FieldModel) -> bool:
    """Whether rows can be sorted by the field; lists cannot be compared."""
    return Operator.EQ in OPERATORS[field.kind]


def ignores_case(model: EntityModel, field: FieldModel) -> bool:
    """Whether the field is compared without case: text with a unique constraint that ignores it."""
    if field.kind is not Kind.TEXT:
        return False
    return any(unique.ignore_case and unique.fields == (field.name,) for unique in model.unique)
