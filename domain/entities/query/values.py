"""Parses field values in query parameters: strictly, and within PostgreSQL's range."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import inf, isfinite
from uuid import UUID

from domain import moments
from domain.entities.declaration import FieldModel
from domain.entities.exact_values import whole_number
from domain.entities.kinds import BITS
from domain.errors import FieldError, ValidationError, unknown_name
from domain.forms import uuid_of


class NotAValue(Exception):
    """Error for an invalid field value. The message continues the parameter's name (``"price takes a number"``)."""


_NUMBER = re.compile(r"[+-]?[0-9]{1,100}(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,3})?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DECODED_PLUS = re.compile(r" (?=[0-9]{2}(?::?[0-9]{2})?\Z)")
_BOOLEANS = {"true": True, "false": False}
_LARGEST_EXPONENT = 200
_MOST_SHOWN = 40  # characters of a refused value in a message


def read_boolean(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise NotAValue("must be true or false")
    return _BOOLEANS[text.lower()]


def read_flags(parameters: Iterable[tuple[str, str]], known: Sequence[str]) -> frozenset[str]:
    """Return the true parameters out of ``known``, as spelt there.

    Raises ValidationError naming all others.
    """
    spelt = {name.lower(): name for name in known}
    seen: dict[str, bool] = {}
    errors: list[FieldError] = []
    for given, text in parameters:
        name = spelt.get(given.lower())
        if name is None:
            errors.append(FieldError(given, unknown_name(given, known)))
        elif name in seen:
            errors.append(FieldError(given, "is given twice"))
        else:
            try:
                seen[name] = read_boolean(text)
            except NotAValue as error:
                errors.append(FieldError(given, str(error)))
    if errors:
        raise ValidationError(fields=errors)
    return frozenset(name for name, is_on in seen.items() if is_on)


def read_moment(text: str) -> tuple[datetime, bool]:
    """The moment in UTC to the microsecond, and whether digits beyond these were cut off that are not zeros.

    A date means midnight in UTC. Raises NotAValue.
    """
    if _DAY.fullmatch(text):
        text += "T00:00Z"
    try:
        # Clients may send ``+`` without encoding, so it arrives as a blank. A blank has no other meaning here.
        return moments.read_moment(_DECODED_PLUS.sub("+", text))
    except moments.NotAMoment as error:
        raise NotAValue(str(error)) from None


def read_exact_moment(text: str) -> datetime:
    """The moment in UTC. Raises NotAValue, also for one between two microseconds."""
    moment, is_cut = read_moment(text)
    if is_cut:
        raise NotAValue(moments.TOO_FINE)
    return moment


def first_day_from(moment: datetime, is_cut: bool = False) -> date:
    """The first date whose midnight is not before this moment, or the finer one that it was cut from.

    Raises NotAValue past the last day of the calendar.
    """
    day = moment.date()
    if moment == datetime(day.year, day.month, day.day, tzinfo=UTC) and not is_cut:
        return day
    if day == date.max:
        raise NotAValue("is not a valid date or time")
    return day + timedelta(days=1)


def read_text(text: str) -> str:
    """Return the text, if PostgreSQL can store it. Raises NotAValue for NUL and lone surrogates."""
    if "\0" in text or not _is_unicode(text):
        raise NotAValue("contains a character that no text can hold")
    return text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def split_list(text: str, most: int) -> list[str]:
    """Return comma-separated values, at most ``most``. Raises NotAValue.

    A value with a comma is quoted as in CSV: ``red,"a,b"`` is ``["red", "a,b"]``.
    """
    if "," not in text and not text.startswith('"'):
        return [text]
    values: list[str] = []
    rest = text
    while True:
        value, rest, has_more = _take_first(rest)
        values.append(value)
        if len(values) > most:
            raise NotAValue(f"accepts at most {most} values")
        if not has_more:
            return values


def _take_first(text: str) -> tuple[str, str, bool]:
    if not text.startswith('"'):
        # The first value, the text after its comma, and whether there was a comma.
        value, comma, rest = text.partition(",")
        return value, rest, bool(comma)
    end = 1
    while (end := text.find('"', end)) != -1 and text[end + 1 : end + 2] == '"':
        end += 2
    if end == -1 or text[end + 1 : end + 2] not in ("", ","):
        raise NotAValue("has a quoted value that does not end: inside quotes a quote is written twice")
    return text[1:end].replace('""', '"'), text[end + 2 :], text[end + 1 : end + 2] == ","


def read_integer(field: FieldModel, text: str) -> int:
    limit = 2 ** BITS[field.kind]
    number = whole_number(Decimal(text)) if _NUMBER.fullmatch(text) else None
    if not isinstance(number, int):
        raise NotAValue("must be a whole number")
    if not -limit <= number < limit:
        raise NotAValue(f"must be a whole number from {-limit} to {limit - 1}")
    return number


def read_decimal(_: FieldModel, text: str) -> Decimal:
    # PostgreSQL and Python compare numbers with huge exponents very slowly.
    if not _NUMBER.fullmatch(text) or abs(Decimal(text).adjusted()) > _LARGEST_EXPONENT:
        raise NotAValue("must be a number")
    return Decimal(text)


def read_float(_: FieldModel, text: str) -> float:
    number = float(text) if _NUMBER.fullmatch(text) else inf
    if not isfinite(number) or (not number and Decimal(text)):
        raise NotAValue("must be a number")
    return number


def read_day(_: FieldModel, text: str) -> date:
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise NotAValue("must be a date such as 2026-11-20")


def read_id(_: FieldModel, text: str) -> UUID:
    if (found := uuid_of(text)) is None:
        raise NotAValue("must be an id such as 0198c0de-0000-7000-8000-000000000000")
    return found


def read_choice(field: FieldModel, text: str) -> str:
    if text not in field.choices:
        wrong = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
        remedy = "use .eq or .in to find rows with a value that was removed"
        raise NotAValue(f"must be one of: {', '.join(field.choices)}; '{wrong}' is not ({remedy})")
    return text


def no_value(_field: FieldModel, _text: str) -> object:
    raise NotAValue("is a list, which cannot be compared")
