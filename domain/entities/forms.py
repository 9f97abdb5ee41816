"""From untyped JSON to a struct, naming every field that is wrong at once."""

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
from domain.entities.registry import SERVER_OWNED
from domain.errors import FieldError, ValidationError, unknown_name

F = TypeVar("F", bound=Struct)

_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NEVER = re.compile(r"(?!)")
_IGNORED = frozenset(one.wire for one in SERVER_OWNED)
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
    """The body as a ``kind``; raises ValidationError with every failing and every unknown field.

    Fields take the types of JSON; a decimal may also come as text. Unknown fields get the nearest name as a hint.
    """
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
    """Names what may be chosen, wherever in the type the choice stands."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"takes one of: {', '.join(str(one.value) for one in kind)}"
    if get_origin(kind) is Literal:
        return f"takes one of: {', '.join(map(str, get_args(kind)))}"
    return next((error for part in get_args(kind) if (error := _choice_error(part))), "")


def _plain(sentence: str) -> str:
    """msgspec's sentence without its marks, and with the end of a pattern as it was declared."""
    text = _CODE.sub(lambda found: _named(found.group(1)), sentence.replace("\\\\Z'", "$'"))
    return text[:1].lower() + text[1:]


def _named(code: str) -> str:
    """msgspec's names of types in the words of JSON; anything else stays as it is."""
    return " or ".join(_WORDS.get(part, part) for part in code.split(" | "))


def read_new(model: EntityModel, body: Mapping[str, object]) -> dict[str, object]:
    """The values of a new row, defaults filled in; what the server owns is ignored."""
    return dict(zip(model.names, astuple(_read(model, model.create_form, body)), strict=True))


def read_changes(model: EntityModel, body: Mapping[str, object]) -> dict[str, object]:
    """Only the values that were sent; null is one."""
    values = zip(model.names, astuple(_read(model, model.update_form, body)), strict=True)
    return {name: value for name, value in values if value is not UNSET}


def _read(model: EntityModel, form: type[Struct], body: Mapping[str, object]) -> Struct:
    checked = _checked(model)
    own = _own_fields(checked, body)
    errors = [*_money_errors(checked, own)]
    try:
        read = read_form(form, own)
    except ValidationError as error:
        raise ValidationError(fields=(*error.fields, *errors)) from None
    errors += _moment_errors(checked, read)
    if errors:
        raise ValidationError(fields=errors)
    return read


class _Checked(Struct, frozen=True):
    """What a type alone does not say of a body: names that mean nothing, amounts, and moments."""

    ignored: frozenset[str]
    amounts: tuple["_Amount", ...]
    moments: tuple[FieldModel, ...]


class _Amount(Struct, frozen=True):
    """``certain`` is the text of numbers that surely fit, and most do."""

    wire: str
    money: Money
    certain: re.Pattern[str]


@lru_cache(maxsize=1024)
def _checked(model: EntityModel) -> _Checked:
    return _Checked(
        ignored=_IGNORED | model.relations.keys(),
        amounts=tuple(_Amount(one.wire, one.money, _certain(one.money)) for one in model.declared if one.money),
        moments=tuple(one for one in model.declared if one.kind is Kind.TIMESTAMP),
    )


def _certain(money: Money) -> re.Pattern[str]:
    """Nothing is, where a bound has to be looked at."""
    whole, is_bounded = money.precision - money.scale, money.le is not None or (money.ge is not None and money.ge > 0)
    if is_bounded or whole < 1 or money.scale < 1:
        return _NEVER
    return re.compile(rf"[0-9]{{1,{whole}}}(\.[0-9]{{1,{money.scale}}})?")


def _moment_errors(checked: _Checked, read: Struct) -> Iterator[FieldError]:
    """Hours from the ends of the calendar a zone can lead out of it."""
    for one in checked.moments:
        value = getattr(read, one.name)
        if isinstance(value, datetime):
            try:
                value.astimezone(UTC)
            except OverflowError:
                yield FieldError(one.wire, "must be a moment between the years 1 and 9999, in UTC")


def strangers(model: EntityModel, body: Mapping[str, object], known: Collection[str]) -> Iterator[FieldError]:
    """The names in a body that mean nothing where only those ``known`` mean something."""
    meant = {*_IGNORED, *model.relations, *known}
    yield from (FieldError(name, unknown_name(name, known)) for name in body if name not in meant)


def _own_fields(checked: _Checked, body: Mapping[str, object]) -> Mapping[str, object]:
    if checked.ignored.isdisjoint(body):
        return body
    return {name: body[name] for name in body if name not in checked.ignored}


def _money_errors(checked: _Checked, body: Mapping[str, object]) -> Iterator[FieldError]:
    for one in checked.amounts:
        value = body.get(one.wire)
        if isinstance(value, (str, Decimal)) and one.certain.fullmatch(str(value)):
            continue
        if (error := money_error(one.money, value)) is not None:
            yield FieldError(one.wire, error)


def money_error(money: Money, value: object) -> str | None:
    """Why a value that msgspec takes for a decimal does not fit; None also for what is no number at all."""
    number = _number(value)
    if number is None:
        return None
    if not number.is_finite():
        return "must be a finite number"
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
