"""Reads untyped JSON into structs, naming every invalid field at once."""

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import FieldInfo, astuple, fields

from domain.entities.declaration import EntityModel, FieldModel, Kind, Money
from domain.entities.exact_values import CHECKED_KINDS, plain_numbers, value_errors
from domain.entities.server_fields import SERVER_OWNED
from domain.errors import FieldError, ValidationError, unknown_name

F = TypeVar("F", bound=Struct)

_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NEVER = re.compile(r"(?!)")
_IGNORED = frozenset(field.wire for field in SERVER_OWNED)
_CODE = re.compile("`([^`]*)`")
_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a decimal number",
    "bool": "true or false",
    "uuid": "an id (UUID)",
    "datetime": "a timestamp",
    "date": "a date",
    "array": "a list",
    "object": "an object",
}


def read_form(kind: type[F], body: Mapping[str, object]) -> F:
    """The body as a ``kind``. Raises ValidationError with every invalid and every unknown field.

    Fields take the types of JSON; a decimal may also be text. An unknown field gets the nearest name as a hint.
    """
    # msgspec stops at the first error; only a body that fails is read field by field for all of them.
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError:
        raise ValidationError(fields=tuple(_explain(kind, body))) from None


def _explain(kind: type[Struct], body: Mapping[str, object]) -> Iterator[FieldError]:
    known = {info.encode_name: info for info in fields(kind)}
    for name, info in known.items():
        if name not in body:
            if info.required:
                yield FieldError(name, "is required")
        elif (error := _field_error(info, body[name])) is not None:
            yield error
    yield from (FieldError(name, unknown_name(name, known)) for name in body if name not in known)


def _field_error(info: FieldInfo, value: object) -> FieldError | None:
    try:
        msgspec.convert(value, cast(Any, info.type))
    except msgspec.ValidationError as error:
        sentence, _, path = str(error).partition(" - at `$")
        message = _choice_error(info.type) if sentence.startswith("Invalid enum value") else _plain(sentence)
        return FieldError(info.encode_name + path.rstrip("`"), message)
    return None


def _choice_error(kind: object) -> str:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"takes one of: {', '.join(str(member.value) for member in kind)}"
    if get_origin(kind) is Literal:
        return f"takes one of: {', '.join(map(str, get_args(kind)))}"
    # The choice may stand inside a list or a union.
    return next((error for part in get_args(kind) if (error := _choice_error(part))), "")


def _plain(sentence: str) -> str:
    # Patterns were given ``\Z`` for ``$`` (registry.py): the message shows them as they were declared.
    text = _CODE.sub(lambda found: _json_words(found.group(1)), sentence.replace("\\\\Z", "$"))
    return text[:1].lower() + text[1:]


def _json_words(code: str) -> str:
    # "int | str" becomes "a whole number or text".
    return " or ".join(_WORDS.get(part, part) for part in code.split(" | "))


def read_new(model: EntityModel, body: Mapping[str, object]) -> dict[str, object]:
    """Values of a new row by Python name, with defaults; fields that the server owns are ignored."""
    return dict(zip(model.names, astuple(_read(model, model.create_form, body)), strict=True))


def read_changes(model: EntityModel, body: Mapping[str, object]) -> dict[str, object]:
    """Values that were sent, by Python name; null is a value."""
    values = zip(model.names, astuple(_read(model, model.update_form, body)), strict=True)
    return {name: value for name, value in values if value is not UNSET}


def _read(model: EntityModel, form: type[Struct], body: Mapping[str, object]) -> Struct:
    checks = _extra_checks(model)
    own = plain_numbers(checks.values, _own_fields(checks, body))
    errors = [*_money_errors(checks, own), *value_errors(checks.values, own)]
    try:
        read = read_form(form, own)
    except ValidationError as error:
        said = {wrong.field for wrong in error.fields}
        raise ValidationError(fields=(*error.fields, *(wrong for wrong in errors if wrong.field not in said))) from None
    errors += _moment_errors(checks, read)
    if errors:
        raise ValidationError(fields=errors)
    return read


# Checks of a body beyond its types: ignored names, decimals and timestamps. Made once per entity.
class _ExtraChecks(Struct, frozen=True):
    ignored: frozenset[str]
    amounts: tuple["_Amount", ...]
    moments: tuple[FieldModel, ...]
    values: tuple[FieldModel, ...]


# ``surely_valid`` matches the plain numbers, nearly all, that need no arithmetic to be accepted.
class _Amount(Struct, frozen=True):
    wire: str
    money: Money
    surely_valid: re.Pattern[str]


@lru_cache(maxsize=1024)
def _extra_checks(model: EntityModel) -> _ExtraChecks:
    return _ExtraChecks(
        ignored=_IGNORED | model.relations.keys(),
        amounts=tuple(
            _Amount(field.wire, field.money, _surely_valid(field.money)) for field in model.declared if field.money
        ),
        moments=tuple(field for field in model.declared if field.kind is Kind.TIMESTAMP),
        values=tuple(field for field in model.declared if field.kind in CHECKED_KINDS),
    )


def _surely_valid(money: Money) -> re.Pattern[str]:
    whole, is_bounded = money.precision - money.scale, money.le is not None or (money.ge is not None and money.ge > 0)
    if is_bounded or whole < 1 or money.scale < 1:
        return _NEVER
    return re.compile(rf"[0-9]{{1,{whole}}}(\.[0-9]{{1,{money.scale}}})?")


def _moment_errors(checks: _ExtraChecks, read: Struct) -> Iterator[FieldError]:
    for field in checks.moments:
        value = getattr(read, field.name)
        if isinstance(value, datetime):
            # The years 1 and 9999 can leave the calendar when their zone is taken away.
            try:
                value.astimezone(UTC)
            except OverflowError:
                yield FieldError(field.wire, "must be a moment between the years 1 and 9999, in UTC")


def strangers(model: EntityModel, body: Mapping[str, object], known: Collection[str]) -> Iterator[FieldError]:
    """Errors for the names in a body that are neither ``known`` nor ignored."""
    accepted = {*_IGNORED, *model.relations, *known}
    yield from (FieldError(name, unknown_name(name, known)) for name in body if name not in accepted)


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
    """Reason why a number does not fit ``money``, None if it fits, and for a value that is no number at all.

    Example: ``money_error(money(5, 2), Decimal("1000"))`` is "must have at most 3 digits before the point".
    """
    number = _number(value)
    if number is None:
        return None
    if not number.is_finite():
        return "must be a finite number"
    # Decimal() also takes underscores and other scripts' digits.
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
        # repr of a float has the digits that the client sent; Decimal(float) has its binary expansion.
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
    return None
