"""What can be asked of each kind of field: the one table behind validation, SQL, memory and OpenAPI."""

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
"""They look for a part of a text, and never mind case."""

_TIMES = frozenset({Kind.TIMESTAMP, Kind.DATE})
_NUMBERS = frozenset({Kind.INTEGER, Kind.BIG_INTEGER, Kind.DECIMAL, Kind.FLOAT})


class Bound(Struct, frozen=True):
    """Another spelling of an operator: ``minPrice``, ``createdBefore``. From ``after`` on, until just ``before``."""

    prefix: str
    suffix: str
    operator: Operator
    kinds: frozenset[Kind]

    def name(self, wire: str) -> str:
        return f"{self.prefix}{wire[:1].upper()}{wire[1:]}" if self.prefix else f"{wire}{self.suffix}"

    def property_in(self, word: str) -> str | None:
        """The property that a lower-case word speaks of, if it is one of these."""
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


def is_sortable(one: FieldModel) -> bool:
    return Operator.EQ in OPERATORS[one.kind]


def ignores_case(model: EntityModel, one: FieldModel) -> bool:
    """Texts that are unique without case are also equal without it."""
    if one.kind is not Kind.TEXT:
        return False
    return any(unique.ignore_case and unique.fields == (one.name,) for unique in model.unique)
