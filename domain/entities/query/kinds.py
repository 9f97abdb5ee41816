"""Queries by field kind: operators, bounds such as ``minPrice``, and values in parameters.

Validation, SQL, the in-memory adapter and OpenAPI all use this table.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.kinds import Kind
from domain.entities.markers import Mine
from domain.entities.query.query import Operator
from domain.entities.query.values import (
    no_value,
    read_boolean,
    read_choice,
    read_day,
    read_decimal,
    read_exact_moment,
    read_float,
    read_id,
    read_integer,
    read_text,
)

_SAME = (Operator.EQ, Operator.NE, Operator.IN, Operator.IS_NULL)
_ORDERED = (*_SAME, Operator.GT, Operator.GTE, Operator.LT, Operator.LTE)
_TEXT = (*_ORDERED, Operator.CONTAINS, Operator.STARTS_WITH, Operator.ENDS_WITH)
_NULL = (Operator.IS_NULL,)
_LINKED = (Operator.IN, Operator.ALL, Operator.IS_NULL)

BY_NAME: Mapping[str, Operator] = {operator.value.lower(): operator for operator in Operator}
PARTS = frozenset({Operator.CONTAINS, Operator.STARTS_WITH, Operator.ENDS_WITH})
"""Operators that compare a part of a text, always ignoring case."""


class Bound(Struct, frozen=True):
    """Another spelling of an operator.

    Examples: ``minPrice=10`` is ``price.gte=10``; ``createdBefore=2026-11-20`` is ``createdAt.lt=2026-11-20``.
    """

    prefix: str
    suffix: str
    operator: Operator

    def name(self, wire: str) -> str:
        """Return the parameter for the property ``wire``: ``minPrice`` for ``price``."""
        return f"{self.prefix}{wire[:1].upper()}{wire[1:]}" if self.prefix else f"{wire}{self.suffix}"

    def property_in(self, word: str) -> str | None:
        """Return the property in a lower-case parameter name (``price`` for ``minprice``), None for other names."""
        prefix, suffix = self.prefix, self.suffix.lower()
        if not (word.startswith(prefix) and word.endswith(suffix)):
            return None
        return word[len(prefix) : len(word) - len(suffix)]


_RANGE = (Bound("min", "", Operator.GTE), Bound("max", "", Operator.LTE))
_PERIOD = (*_RANGE, Bound("", "After", Operator.GTE), Bound("", "Before", Operator.LT))
BOUNDS = _PERIOD


class QueryKind(Struct, frozen=True):
    """Queries on fields of a kind.

    ``filter`` is the schema name of a filter. ``read`` converts the text of a parameter to a value, and raises
    NotAValue; a choice remains text. ``example`` is an example of such a text.
    """

    filter: str
    operators: tuple[Operator, ...]
    bounds: tuple[Bound, ...]
    read: Callable[[FieldModel, str], object]
    example: str = "0"


QUERY_KINDS: Mapping[Kind, QueryKind] = {
    Kind.TEXT: QueryKind("TextFilter", _TEXT, (), lambda _, text: read_text(text)),
    Kind.INTEGER: QueryKind("NumberFilter", _ORDERED, _RANGE, read_integer),
    Kind.BIG_INTEGER: QueryKind("NumberFilter", _ORDERED, _RANGE, read_integer),
    Kind.DECIMAL: QueryKind("NumberFilter", _ORDERED, _RANGE, read_decimal),
    Kind.FLOAT: QueryKind("NumberFilter", _ORDERED, _RANGE, read_float),
    Kind.BOOLEAN: QueryKind("BooleanFilter", _SAME, (), lambda _, text: read_boolean(text), "true"),
    Kind.TIMESTAMP: QueryKind(
        "TimestampFilter", _ORDERED, _PERIOD, lambda _, text: read_exact_moment(text), "2026-01-01T00:00:00Z"
    ),
    Kind.DATE: QueryKind("DateFilter", _ORDERED, _PERIOD, read_day, "2026-01-01"),
    Kind.UUID: QueryKind("IdFilter", _SAME, (), read_id, "00000000-0000-0000-0000-000000000000"),
    Kind.CHOICE: QueryKind("ChoiceFilter", _SAME, (), read_choice),
    Kind.UUIDS: QueryKind("ListFilter", _NULL, (), no_value),
    Kind.TEXTS: QueryKind("ListFilter", _NULL, (), no_value),
    Kind.LINKS: QueryKind("LinkFilter", _LINKED, (), read_id, "00000000-0000-0000-0000-000000000000"),
}


def read_value(field: FieldModel, text: str) -> object:
    """Convert a text to the field's Python type; an enum member remains text. Raises NotAValue.

    Examples: ``12.50`` for a decimal is ``Decimal("12.50")``; ``2026-11-20T12:00:00+01:00`` is 11:00 in UTC.
    """
    return QUERY_KINDS[field.kind].read(field, text)


def read_stored(field: FieldModel, text: str) -> object:
    """Convert the text of a value that a row may contain, including former enum members. Raises NotAValue."""
    return read_text(text) if field.kind is Kind.CHOICE else read_value(field, text)


def is_sortable(field: FieldModel) -> bool:
    """Return whether rows can be sorted by the field: all kinds except lists."""
    return Operator.EQ in QUERY_KINDS[field.kind].operators


def ignores_case(model: EntityModel, field: FieldModel) -> bool:
    """Return whether the field is compared without case: text with a unique constraint that ignores case."""
    if field.kind is not Kind.TEXT:
        return False
    return any(unique.ignore_case and unique.fields == (field.name,) for unique in model.unique)


def lowered(text: str) -> str:
    """Return the text in lower case, letter by letter: ``İ`` becomes ``i``, a final ``Σ`` becomes ``σ``."""
    # PostgreSQL's lower() maps single letters. Python's may give two, and considers the neighbours of a sigma.
    return text.lower() if text.isascii() else "".join(letter.lower()[0] for letter in text)


def leads_an_index(model: EntityModel, field: FieldModel) -> bool:
    """Return whether an index begins with the field, so that a filter by it need not read all rows."""
    declaration = model.declaration
    leading = {"id"} if declaration.is_view else {"id", declaration.sort.removeprefix("-")}
    leading |= {unique.fields[0] for unique in declaration.unique}
    leading |= {index.fields[0] for index in declaration.indexes}
    leading |= {rule.field for rule in declaration.own if isinstance(rule, Mine)}
    return field.reference is not None or field.link is not None or field.name in leading
