"""Reads the bodies of entities: fields of the declaration, exact amounts, and names of no field."""

import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache

from msgspec import UNSET, Struct
from msgspec.structs import astuple

from domain.entities.declaration import SERVER_OWNED, EntityModel, FieldModel
from domain.entities.exact_values import Check, check_of, indexed_room, plain_numbers, room_errors
from domain.entities.kinds import BITS
from domain.entities.markers import Money
from domain.errors import FieldError, ValidationError
from domain.forms import read_form

_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NEVER = re.compile(r"(?!)")
_IGNORED = frozenset(field.wire for field in SERVER_OWNED)


def read_new(model: EntityModel, body: Mapping[str, object], *, explains: bool = True) -> dict[str, object]:
    """Read a new row's values by Python name, with defaults; ignore the server's fields."""
    return dict(zip(model.names, astuple(_read(model, model.create_form, body, explains=explains)), strict=True))


def read_changes(model: EntityModel, body: Mapping[str, object], *, explains: bool = True) -> dict[str, object]:
    """Read the sent values by Python name; null is a value."""
    values = zip(model.names, astuple(_read(model, model.update_form, body, explains=explains)), strict=True)
    return {name: value for name, value in values if value is not UNSET}


def _read(model: EntityModel, form: type[Struct], body: Mapping[str, object], *, explains: bool = True) -> Struct:
    checks = _extra_checks(model)
    own = plain_numbers(checks.whole, _own_fields(checks, body))
    errors = [*_money_errors(checks, own), *room_errors(checks.room, own)]
    for field, check in checks.exact:
        errors += check(field, own.get(field.wire))
    if errors and not explains:
        raise ValidationError
    try:
        read = read_form(form, own, explains=explains)
    except ValidationError as error:
        said = {wrong.field for wrong in error.fields}
        raise ValidationError(fields=(*error.fields, *(wrong for wrong in errors if wrong.field not in said))) from None
    if errors:
        raise ValidationError(fields=errors)
    return read


# Checks of a body beyond its types: ignored names, decimals and the room of indexes. Made once per entity.
class _ExtraChecks(Struct, frozen=True):
    ignored: frozenset[str]
    amounts: tuple["_Amount", ...]
    whole: tuple[str, ...]
    exact: tuple[tuple[FieldModel, Check], ...]
    room: Mapping[str, int]


# ``surely_valid`` matches plain numbers, nearly all, to avoid arithmetic.
class _Amount(Struct, frozen=True):
    wire: str
    money: Money
    surely_valid: re.Pattern[str]


@lru_cache(maxsize=1024)
def _extra_checks(model: EntityModel) -> _ExtraChecks:
    return _ExtraChecks(
        ignored=_ignored(model),
        amounts=tuple(
            _Amount(field.wire, field.money, _surely_valid(field.money)) for field in model.declared if field.money
        ),
        whole=tuple(field.wire for field in model.declared if field.kind in BITS),
        exact=tuple((field, check) for field in model.declared if (check := check_of(field.kind)) is not None),
        room=indexed_room(model),
    )


def _surely_valid(money: Money) -> re.Pattern[str]:
    whole, is_bounded = money.precision - money.scale, money.le is not None or (money.ge is not None and money.ge > 0)
    if is_bounded or whole < 1 or money.scale < 1:
        return _NEVER
    return re.compile(rf"[0-9]{{1,{whole}}}(\.[0-9]{{1,{money.scale}}})?")


def strangers(
    model: EntityModel, body: Mapping[str, object], known: Collection[str], unseen: frozenset[str]
) -> Iterator[str]:
    """Return the names in a body that are neither ``known`` nor ignored. Names in ``unseen`` are not ignored."""
    accepted = {*(_ignored(model) - unseen), *known}
    return (name for name in body if name not in accepted)


def _ignored(model: EntityModel) -> frozenset[str]:
    """Names in a response's row that writes ignore: server-owned fields, included relations, ``…HasMore``."""
    return _IGNORED.union(*(relation.members for relation in model.relations.values()))


def _own_fields(checks: _ExtraChecks, body: Mapping[str, object]) -> Mapping[str, object]:
    if checks.ignored.isdisjoint(body):
        return body
    return {name: body[name] for name in body if name not in checks.ignored}


def _money_errors(checks: _ExtraChecks, body: Mapping[str, object]) -> Iterator[FieldError]:
    for amount in checks.amounts:
        value = body.get(amount.wire)
        if isinstance(value, (str, Decimal)) and amount.surely_valid.fullmatch(str(value)):
            continue
        if (error := money_error(amount.money, value)) is not None:
            yield FieldError(amount.wire, error)


def money_error(money: Money, value: object) -> str | None:
    """Return the error of a number that does not fit ``money``; None for other values.

    Example: ``money_error(money(5, 2), Decimal("1000"))`` is "must have at most 3 digits before the point".
    """
    number = _number(value)
    if number is None:
        return None
    if not number.is_finite():
        return "must be a finite number"
    # Check the spelling first, because Decimal() also accepts underscores and digits of other scripts.
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value) is None:
        return "must be a number in plain digits"
    if money.ge is not None and number < money.ge:
        return f"must be at least {money.ge}"
    if money.le is not None and number > money.le:
        return f"must be at most {money.le}"
    return _digits_error(money, number)


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        return None
    try:
        # Use repr: repr of a float has the client's digits, while Decimal(float) has the digits of its binary value.
        return Decimal(repr(value) if isinstance(value, float) else value)
    except ArithmeticError:
        return None


def _digits_error(money: Money, number: Decimal) -> str | None:
    if number and number.adjusted() >= money.precision - money.scale:
        return f"must have at most {money.precision - money.scale} digits before the point"
    _, digits, exponent = number.as_tuple()
    beyond = -int(exponent) - money.scale
    if beyond > 0 and any(digits[-beyond:]):
        return f"must have at most {money.scale} digits after the point"
    return None if abs(int(exponent)) <= 1_000 else "must be a number in plain digits"  # PostgreSQL: 16,383
