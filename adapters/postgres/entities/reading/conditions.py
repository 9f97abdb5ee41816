"""SQLAlchemy Core expressions for filters, sort keys, and the rows after a cursor."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import FromClause, func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.schema.copies import MOST_DIGITS, is_lowered, is_scaled, lowered_name, ordered_name, scaled_name
from adapters.postgres.statements.compiled import constant, parameter
from adapters.postgres.statements.rows import Truth, Value, bind_type, without_case
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.query.kinds import PARTS
from domain.entities.query.query import Operator, Path
from domain.entities.query.responses import LARGEST_CHARACTER


class Filter(Struct, frozen=True):
    """A filter without its value. The value is the parameter with this filter's name."""

    path: Path
    operator: Operator
    parameter: str


_EXPRESSIONS: Mapping[Operator, Callable[[Value, Value], Truth]] = {
    Operator.EQ: lambda column, value: column == value,
    Operator.NE: lambda column, value: column != value,
    Operator.GT: lambda column, value: column > value,
    Operator.GTE: lambda column, value: column >= value,
    Operator.LT: lambda column, value: column < value,
    Operator.LTE: lambda column, value: column <= value,
    # in_() would make the text depend on the number of values; with one array parameter, it would never be true.
    Operator.IN: lambda column, values: column == sa.any_(values),
    Operator.CONTAINS: lambda column, pattern: column.like(pattern),
    Operator.STARTS_WITH: lambda column, pattern: column.like(pattern),
    Operator.ENDS_WITH: lambda column, pattern: column.like(pattern),
    Operator.IS_NULL: lambda column, value: column.is_(None) == value,
}
_SAME = frozenset({Operator.EQ, Operator.NE, Operator.IN})


def condition(model: EntityModel, rows: FromClause, given: Filter) -> Truth:
    """Return the SQL condition of a filter on ``rows``; the filter's path may lead through relations."""
    field = model.by_name[given.path.field]
    column, value = rows.c[field.name], parameter(given.parameter, _value_type(given.operator, field))
    # An index does not serve an inequality.
    if is_scaled(model, field) and given.operator is not Operator.NE:
        return _scaled_condition(field, rows.c[scaled_name(field)], given.operator, value)
    if is_lowered(model, field) and given.operator in _SAME:
        return _EXPRESSIONS[given.operator](rows.c[lowered_name(field)], _lowered(given.operator, value))
    if given.operator in PARTS:
        return _EXPRESSIONS[given.operator](without_case(column), without_case(value))
    return _EXPRESSIONS[given.operator](column, value)


def _value_type(operator: Operator, field: FieldModel) -> sa.types.TypeEngine[Any]:
    if operator is Operator.IS_NULL:
        return sa.Boolean()
    return ARRAY(bind_type(field)) if operator is Operator.IN else bind_type(field)


def _lowered(operator: Operator, value: Value) -> Value:
    if operator is not Operator.IN:
        # A subquery is evaluated once; a generic plan would call the function for each row.
        return sa.select(without_case(value)).scalar_subquery()
    text = func.unnest(value).column_valued("text")
    return func.array(sa.select(without_case(text)).scalar_subquery(), type_=ARRAY(sa.Text()))


def has_word(rows: FromClause, fields: Sequence[str], name: str) -> Truth:
    """Return whether a search field contains the word; the parameter ``name`` is a LIKE pattern."""
    word = without_case(parameter(name, sa.Text()))
    return sa.or_(sa.false(), *(without_case(rows.c[field]).like(word) for field in fields))


def driver_value(operator: Operator, value: object) -> object:
    """Convert a condition's value for the driver."""
    if operator in PARTS:
        return pattern(operator, str(value))
    return list(value) if isinstance(value, tuple) else value


def pattern(operator: Operator, text: str) -> str:
    """The pattern for LIKE, with the wildcards of ``text`` escaped: ``5%`` becomes ``%5\\%%``."""
    literal = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    before = "" if operator is Operator.STARTS_WITH else "%"
    after = "" if operator is Operator.ENDS_WITH else "%"
    return f"{before}{literal}{after}"


class Ordered(Struct, frozen=True):
    """A sort key as an SQL expression. Nulls sort as the largest values, as by PostgreSQL's default.

    ``value`` is the value for a cursor: the field itself, even if ``expression`` is its scaled copy.
    """

    expression: Value
    value: Value
    descending: bool
    is_nullable: bool
    field: FieldModel

    @property
    def is_copy(self) -> bool:
        return self.expression is not self.value

    def held(self, name: str) -> Value:
        """Return the parameter for a cursor's value, to compare with the expression."""
        value = parameter(name, bind_type(self.field))
        return _scaled_key(self.field, value) if self.is_copy else value

    @property
    def order(self) -> Value:
        return self.expression.desc() if self.descending else self.expression


def ordered_by(model: EntityModel, field: FieldModel, rows: FromClause, *, descending: bool, is_outer: bool) -> Ordered:
    """Return the sort key for a field of ``rows``; with an outer join every key is nullable."""
    return Ordered(
        rows.c[ordered_name(model, field)], rows.c[field.name], descending, is_outer or field.nullable, field
    )


def after(ordered: Sequence[Ordered], are_held: Sequence[bool], texts: Mapping[int, Value]) -> Truth:
    """Return the condition for rows after the cursor, which has the sort values ``after_0``, ``after_1``, …;
    ``are_held`` is false for a null value.

    ``texts`` has the full values of long texts, because the cursor has only their beginnings.
    """
    values = [
        texts.get(number, key.held(f"after_{number}")) if is_held else None
        for number, (key, is_held) in enumerate(zip(ordered, are_held, strict=True))
    ]
    # A plain order: all keys have one direction, and none can be null.
    is_plain = len({key.descending for key in ordered}) == 1 and not any(key.is_nullable for key in ordered)
    if is_plain and all(are_held):
        # An index serves a comparison of whole rows.
        keys, ends = sa.tuple_(*(key.expression for key in ordered)), sa.tuple_(*values)
        return keys < ends if ordered[0].descending else keys > ends
    pairs = list(zip(ordered, values, strict=True))
    ways = [[*(_same(*pair) for pair in pairs[:last]), _behind(*pairs[last])] for last in range(len(pairs))]
    return sa.or_(*(sa.and_(*way) for way in ways))


def whole_text(key: Ordered, name: str, rows: FromClause, where: Sequence[Truth]) -> Value:
    """Return a subquery for the full text in the row where the cursor points; the parameter ``name`` has its beginning.

    If that row is gone, the result is the smallest text with this beginning, or the largest for a descending key.
    """
    beginning = parameter(name, sa.Text())
    begins = func.starts_with(key.value, beginning)
    found = sa.select(key.value).select_from(rows).where(*where, begins).limit(constant(1)).scalar_subquery()
    end = func.chr(constant(ord(LARGEST_CHARACTER)))
    return func.coalesce(found, func.concat(beginning, end) if key.descending else beginning, type_=sa.Text())


def _same(key: Ordered, value: Value | None) -> Truth:
    return key.expression.is_(None) if value is None else key.expression == value


def _behind(key: Ordered, value: Value | None) -> Truth:
    if key.descending:
        return key.expression.is_not(None) if value is None else key.expression < value
    if value is None:  # nulls sort last: nothing follows
        return sa.false()
    larger = key.expression > value
    return sa.or_(larger, key.expression.is_(None)) if key.is_nullable else larger


# A comparison of the scaled copy selects the same rows as the comparison of the decimal.

# Larger than every copy, but within the type.
_LIMIT = 10**MOST_DIGITS

# Round the bound to a whole number: ``price >= 1.005`` is ``price$e2 >= 101``.
_RANGES: Mapping[Operator, tuple[Callable[[Value, Value], Truth], Callable[..., Value]]] = {
    Operator.GT: (lambda column, value: column > value, func.floor),
    Operator.GTE: (lambda column, value: column >= value, func.ceil),
    Operator.LT: (lambda column, value: column < value, func.ceil),
    Operator.LTE: (lambda column, value: column <= value, func.floor),
}


def _scaled_condition(field: FieldModel, column: Value, operator: Operator, value: Value) -> Truth:
    """Return the condition on the scaled copy, for all operators except NE."""
    if operator in _RANGES:
        compare, rounded = _RANGES[operator]
        return compare(column, _whole(rounded(_bounded(_scaled(field, value)))))
    if operator is Operator.EQ:
        return column == _exact(field, value)
    if operator is Operator.IN:
        item = func.unnest(value).column_valued("item")
        return column == sa.any_(
            func.array(sa.select(_exact(field, item)).scalar_subquery(), type_=ARRAY(sa.BigInteger()))
        )
    assert operator is Operator.IS_NULL, operator
    return column.is_(None) == value


def _scaled_key(field: FieldModel, value: Value) -> Value:
    """A cursor's value in the copy's scale."""
    return _whole(_bounded(_scaled(field, value)))


def _exact(field: FieldModel, value: Value) -> Value:
    """Return a value in the scale of the copy; null if no copy can equal it."""
    scaled = _scaled(field, value)
    can_be = sa.and_(scaled == func.trunc(scaled), func.abs(scaled) < _number(_LIMIT))
    return sa.case((can_be, _whole(scaled)))


def _scaled(field: FieldModel, value: Value) -> Value:
    assert field.money is not None, field.name
    return sa.type_coerce(value, sa.Numeric()) * _number(10**field.money.scale)


def _bounded(scaled: Value) -> Value:
    return func.least(func.greatest(scaled, _number(-_LIMIT)), _number(_LIMIT))


def _whole(scaled: Value) -> Value:
    return sa.cast(scaled, sa.BigInteger())


def _number(value: int) -> sa.BindParameter[Any]:
    return constant(value, sa.Integer())
