"""Operators, search words and sort orders on values, with PostgreSQL's results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from domain.entities.declaration import EntityModel
from domain.entities.query.kinds import PARTS, ignores_case, lowered
from domain.entities.query.query import Condition, Operator

_HOLDS: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQ: lambda held, value: bool(held == value),
    Operator.NE: lambda held, value: bool(held != value),
    Operator.GT: lambda held, value: bool(held > value),
    Operator.GTE: lambda held, value: bool(held >= value),
    Operator.LT: lambda held, value: bool(held < value),
    Operator.LTE: lambda held, value: bool(held <= value),
    Operator.IN: lambda held, values: held in values,
    Operator.CONTAINS: lambda held, part: part in held,
    Operator.STARTS_WITH: lambda held, part: bool(held.startswith(part)),
    Operator.ENDS_WITH: lambda held, part: bool(held.endswith(part)),
}
_WITHOUT_CASE = PARTS | {Operator.EQ, Operator.NE, Operator.IN}


def holds(model: EntityModel, row: Mapping[str, object], condition: Condition) -> bool:
    """Return whether the row fulfils the condition."""
    field = model.by_name[condition.path.field]
    held, value = plain(row[field.name]), condition.value
    if field.link is not None:
        return _links_hold(held, condition.operator, value)
    if condition.operator is Operator.IS_NULL:
        return (held is None) == value
    # As in SQL, no comparison with null holds.
    if held is None:
        return False
    if condition.operator in PARTS or (condition.operator in _WITHOUT_CASE and ignores_case(model, field)):
        held, value = without_case(held), without_case(value)
    return _HOLDS[condition.operator](held, value)


def _links_hold(held: Any, operator: Operator, value: Any) -> bool:
    if operator is Operator.IS_NULL:
        return bool(held) is not value
    return (all if operator is Operator.ALL else any)(key in held for key in value)


def plain(value: object) -> object:
    """Return the value as the database stores it: an enum member as its text."""
    return value.value if isinstance(value, Enum) else value


def without_case(value: Any) -> Any:
    return tuple(map(lowered, value)) if isinstance(value, tuple) else lowered(value)


def has_words(words: Iterable[str], texts: Iterable[object]) -> bool:
    """Return whether each word occurs in one of the texts, without case."""
    lowered = [without_case(text) for text in texts if text is not None]
    return all(any(without_case(word) in text for text in lowered) for word in words)


def sort_value(value: object) -> tuple[bool, Any]:
    """Return the value to sort by; nulls are the largest."""
    return (value is None, 0 if value is None else plain(value))


def is_after_cursor(values: Sequence[object], cursor: Sequence[object], descending: Sequence[bool]) -> bool:
    """Return whether a row with these sort values follows the cursor's row."""
    for value, start, is_descending in zip(values, cursor, descending, strict=True):
        if sort_value(value) != sort_value(start):
            return (sort_value(value) > sort_value(start)) is not is_descending
    return False
