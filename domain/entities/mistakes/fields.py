"""Errors of single fields: names, markers, bounds against the column, and invalid defaults."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any, get_args, get_origin

import msgspec
from msgspec import UNSET

from domain.entities.declaration import FieldModel
from domain.entities.forms import money_error
from domain.entities.kinds import BITS, KINDS, Kind
from domain.entities.markers import (
    Big,
    DeclaredIndex,
    Guard,
    Many,
    Money,
    Reference,
    Unique,
    guarded,
    help_text,
    index,
    label,
    links,
    many,
    member,
    money,
    ref,
    unique,
    widget,
)
from domain.entities.mistakes.arguments import TEXT, reference_mistakes, type_mistake
from domain.entities.mistakes.places import Mistake
from domain.entities.screens.choices import choice, choices
from domain.scope import is_permission

STORABLE = (
    "str, int, Annotated[int, big], Annotated[Decimal, money(12, 2)], float, bool, datetime, date, UUID, an Enum or "
    "Literal of text, list[str], list[UUID], and each of them with `| None`"
)
"""Storable types, for messages."""

LONGEST_NAME = 60
"""Maximum bytes of a name: PostgreSQL stores 63, and names of keys and statements add up to three as a prefix."""

# Points, commas, colons and signs separate the parts of filters, lists and sort keys, so names cannot contain them.
_SPELLABLE = re.compile(r"\w[\w-]*")
_SYSTEM_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})
_DIGITS = 1_000

_CALLED = (choice, choices, guarded, help_text, label, links, member, money, ref, widget)
_OF_ENTITIES = (
    *((kind, "unique", 'unique=[unique("code")]') for kind in (unique, Unique)),
    *((kind, "index", 'indexes=[index("code")]') for kind in (index, DeclaredIndex)),
    *((kind, "many", 'has_many={"books": many("books", by="author_id")}') for kind in (many, Many)),
)
"""Markers of whole entities, as functions and as their result types."""


def name_mistakes(field: FieldModel) -> Iterator[Mistake]:
    if field.name in _SYSTEM_COLUMNS:
        yield Mistake(f"field {field.name!r} has the name of a system column of PostgreSQL: choose another", field.name)
    if too_long := length_mistake(field.name):
        yield Mistake(f"field {too_long}", field.name)
    if not is_spellable(field.wire):
        yield Mistake(
            f"field {field.name!r} has the JSON name {field.wire!r}, which no filter can spell: use letters, digits, "
            "underscores and hyphens",
            field.name,
        )


def length_mistake(name: str) -> str | None:
    size = len(name.encode())
    return f"{name!r} has {size} bytes: a name may have {LONGEST_NAME}" if size > LONGEST_NAME else None


def is_spellable(name: str) -> bool:
    return _SPELLABLE.fullmatch(name) is not None


def mark_mistakes(kind: Kind, marks: Sequence[object]) -> Iterator[str]:
    """Return errors of markers that do not fit the field's type or storage, as phrases after the field's name."""
    references = [mark for mark in marks if isinstance(mark, Reference)]
    if kind not in BITS and any(isinstance(mark, Big) for mark in marks):
        yield "is marked big, which is for whole numbers: use it in Annotated[int, big]"
    for mark in marks:
        if isinstance(mark, Money):
            yield from (
                _money_mistakes(mark)
                if kind is Kind.DECIMAL
                else ("is marked money(…), which is for decimals: use it in Annotated[Decimal, money(12, 2)]",)
            )
        yield from _guard_mistakes(mark) if isinstance(mark, Guard) else _misplaced(mark)
    for reference in references:
        yield from reference_mistakes(reference)
    if len(references) > 1:
        yield "has more than one ref(…): a field refers to one entity"


def _guard_mistakes(guard: Guard) -> Iterator[str]:
    if guard.read is None and guard.write is None:
        yield 'is marked guarded(), which guards nothing: name a permission, as in guarded(read="read:salaries")'
    for name, permission in (("read", guard.read), ("write", guard.write)):
        if permission is not None and (type_mistake(permission, TEXT) or not is_permission(permission)):
            yield f'has guarded({name}={permission!r}), which no role can hold: a permission is like "read:salaries"'


def _misplaced(mark: object) -> Iterator[str]:
    """Return errors of misplaced markers. Security: ignored markers would leave the field without its guard, reference
    or unique constraint.
    """
    for kind, name, argument in _OF_ENTITIES:
        if mark is kind or isinstance(mark, kind if isinstance(kind, type) else ()):
            yield f"is marked {name}, which belongs into the decorator: @entity(…, {argument})"
    if any(mark is marker for marker in _CALLED):
        name = getattr(mark, "__name__", "")
        yield f"is marked {name} without brackets, which says nothing: write {name}(…)"


def _money_mistakes(money: Money) -> Iterator[str]:
    said = f"money({money.precision}, {money.scale})"
    if not (_is_whole(money.precision) and _is_whole(money.scale) and 1 <= money.precision <= _DIGITS):
        yield f"has {said}: the digits are whole numbers, from 1 to {_DIGITS:,} in all"
    elif not 0 <= money.scale <= money.precision:
        yield (
            f"has {said}: the first number counts all digits, the second those after the point, so it is from 0 to "
            f"{money.precision}"
        )
    else:
        yield from _money_bounds(money, said)


def _is_number(bound: object) -> bool:
    return isinstance(bound, Decimal) and not bound.is_nan()


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _money_bounds(money: Money, said: str) -> Iterator[str]:
    largest = (Decimal(10) ** money.precision - 1).scaleb(-money.scale)
    bounds = [(name, bound) for name, bound in (("ge", money.ge), ("le", money.le)) if bound is not None]
    for name, bound in bounds:
        if not _is_number(bound):
            yield f'has {said} with {name}={bound!r}, which is not a number: write ge=0, or ge="0.5"'
            return
        if not (bound.is_finite() and abs(bound) <= largest):
            yield f"has {said} with {name}={bound}, which is beyond what it can hold: at most {largest:f}"
    if money.ge is not None and money.le is not None and money.ge > money.le:
        yield f"has {said} with ge={money.ge} above le={money.le}: no value fits"


def bound_mistakes(kind: Kind, rules: Mapping[str, Any]) -> Iterator[str]:
    """Return bounds of a whole number too large for its column, and contradictory pairs."""
    limit = 2 ** BITS[kind]
    remedy = "use Annotated[int, big] for 64 bits" if kind is Kind.INTEGER else "use Annotated[Decimal, money(38, 0)]"
    for name in ("gt", "ge", "lt", "le"):
        if name in rules and not -limit <= rules[name] <= limit - 1:
            yield (
                f"has {name}={rules[name]}, but is stored in {BITS[kind] + 1} bits, from {-limit} to {limit - 1}: "
                f"{remedy}"
            )
    yield from empty_range(rules)


def empty_range(rules: Mapping[str, Any]) -> Iterator[str]:
    lower, upper = rules.get("ge", rules.get("gt")), rules.get("le", rules.get("lt"))
    if lower is not None and upper is not None and (lower > upper or (lower == upper and {"gt", "lt"} & rules.keys())):
        yield f"has bounds that no value fits: from {lower} to {upper}"
    if "min_length" in rules and "max_length" in rules and rules["min_length"] > rules["max_length"]:
        yield f"has min_length={rules['min_length']} above max_length={rules['max_length']}: no text fits"


def default_mistake(field: FieldModel) -> str | None:
    """Return why the default is not a value of the field, as a phrase that follows the field's name, or None."""
    value = field.default
    if value is UNSET or (value is None and field.nullable):
        return None
    if value is None:
        return "has the default None, but does not take None: add `| None` to its type, or give it another default"
    if not _is_of_kind(field, value):
        return f"has the default {value!r}, which is not {_expected(field)}"
    if field.money is not None and (error := money_error(field.money, value)) is not None:
        return f"has the default {value!r}, which {error}"
    return _refused_value(field, value)


def _refused_value(field: FieldModel, value: object) -> str | None:
    if not is_storable(value):
        return f"has the default {value!r}, which PostgreSQL cannot store"
    try:
        msgspec.convert(value, field.type)
    except msgspec.ValidationError as error:
        return f"has the default {value!r}, which its own type refuses: {error}"
    return None


def is_storable(value: object) -> bool:
    """Return whether PostgreSQL and JSON can represent a text, each text of a list, or a number."""
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, list):
        return all(map(is_storable, value))
    return not isinstance(value, float) or isfinite(value)


def _is_of_kind(field: FieldModel, value: object) -> bool:
    if field.kind is Kind.CHOICE:
        choice = _choice_type(field)
        return isinstance(value, choice) if choice is not None else value in field.choices
    is_number = field.kind in BITS or field.kind is Kind.FLOAT
    if (is_number and isinstance(value, bool)) or (field.kind is Kind.DATE and isinstance(value, datetime)):
        return False  # Python counts True as 1, and a datetime as a date
    return isinstance(value, _types_of(field.kind))


def _types_of(kind: Kind) -> tuple[type, ...]:
    python = KINDS[kind].python
    return (float, int) if python is float else (get_origin(python) or python,)


def _choice_type(field: FieldModel) -> type[Enum] | None:
    candidates = (field.type, *get_args(field.type))
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, Enum)), None)


def _expected(field: FieldModel) -> str:
    if field.kind is Kind.CHOICE:
        choice = _choice_type(field)
        return f"a member of {choice.__name__}" if choice is not None else f"one of {', '.join(field.choices)}"
    types = " or ".join(kind.__name__ for kind in _types_of(field.kind))
    return f"a value of its type ({field.kind.value}): write {types}"
