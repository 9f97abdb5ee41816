"""Forms: untyped JSON becomes structs, every invalid field is named at once, and texts are fit to be shown."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import lru_cache
from itertools import islice
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from domain.errors import MOST_ERRORS, FieldError, ValidationError, unknown_name
from domain.moments import NotAMoment, exact_moment, in_utc

F = TypeVar("F", bound=Struct)

MOST_WITHIN = MOST_ERRORS + 1
"""Most errors that are told of one list or object: a body of wrong items must not make a far larger answer."""

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

_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Their categories are those of letters and symbols: fillers of Hangul, Braille without a dot, a note without a head.
_WITHOUT_SHAPE = frozenset("\u115f\u1160\u2800\u3164\uffa0\U0001d159")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WEB_ADDRESS = re.compile(r"https?://[^\s/?#\\]+[^\s\\]*", re.IGNORECASE)


def documented(least: int | None = None, most: int | None = None, **more: str) -> msgspec.Meta:
    """Bounds of a text for the OpenAPI document alone: ``Annotated[str, documented(1, 200)]``.

    The use case checks them, some of them after it has trimmed the text, and names every failing field in its own
    words. ``more`` are further keys of the schema, such as ``format`` and ``pattern``.
    """
    bounds = {key: value for key, value in (("minLength", least), ("maxLength", most)) if value is not None}
    return msgspec.Meta(extra_json_schema={**bounds, **more})


def read_form(kind: type[F], body: Mapping[str, object], *, explains: bool = True) -> F:
    """The body as a ``kind``. Raises ValidationError with every invalid and every unknown field.

    Fields take the types of JSON; a decimal may also be text. An unknown field gets the nearest name as a hint. Where
    nobody reads the errors, ``explains`` is false and the ValidationError names no field, which takes far less time.
    """
    if moments := _moment_names(kind):
        body = _with_moments(moments, body)
    # msgspec stops at the first error; only a body that fails is read field by field for all of them.
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError:
        if not explains:
            raise ValidationError from None
    body = cast(Mapping[str, object], _with_integers(kind, body))
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError:
        raise ValidationError(fields=_explain(kind, body)) from None


@lru_cache(maxsize=1024)
def _moment_names(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name, info in _fields_by_name(kind).items() if datetime in _parts(info.type))


def _with_moments(names: Sequence[str], body: Mapping[str, object]) -> Mapping[str, object]:
    """The body with its timestamps read; the NotAMoment of one that is refused stands in its place."""
    # msgspec would round the digits of a second, and knows no other spelling than RFC 3339.
    read: dict[str, object] = {}
    for name in names:
        value = body.get(name)
        try:
            if isinstance(value, str):
                read[name] = exact_moment(value)
            elif isinstance(value, datetime) and value.tzinfo is not None:
                read[name] = in_utc(value)
        except NotAMoment as error:
            read[name] = error
    return {**body, **read} if read else body


def _with_integers(kind: object, value: object) -> object:
    """The value with ``5.0`` as 5 where ``kind`` takes whole numbers: JSON has one number of both."""
    for part in _parts(kind):
        if part is int and isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, Mapping) and isinstance(part, type) and issubclass(part, Struct):
            known = _fields_by_name(part)
            value = {
                name: _with_integers(known[name].type, item) if name in known else item for name, item in value.items()
            }
    return value


def _explain(kind: type[Struct], body: Mapping[str, object], inside: str = "") -> Iterator[FieldError]:
    """Errors of the fields of ``kind``; ``inside`` is what their names begin with in a struct within a struct."""
    known = _fields_by_name(kind)
    for name, info in known.items():
        if name not in body:
            if info.required:
                yield FieldError(inside + name, "is required")
        else:
            yield from _value_errors(inside + name, info.type, body[name])
    if not inside or kind.__struct_config__.forbid_unknown_fields:
        yield from (FieldError(inside + name, unknown_name(name, known)) for name in body if name not in known)


@lru_cache(maxsize=1024)  # msgspec evaluates every annotation of the struct anew
def _fields_by_name(kind: type[Struct]) -> Mapping[str, FieldInfo]:
    return {info.encode_name: info for info in fields(kind)}


def _value_errors(name: str, kind: object, value: object) -> Sequence[FieldError]:
    if isinstance(value, NotAMoment):
        return [FieldError(name, str(value))]
    try:
        msgspec.convert(value, cast(Any, kind))
    except msgspec.ValidationError as error:
        # What stands inside says more than the whole does, and may fail in several places.
        if errors := list(islice(_errors_within(name, kind, value), MOST_WITHIN)):
            return errors
        sentence, _, path = str(error).partition(" - at `$")
        message = _choice_error(kind) if sentence.startswith("Invalid enum value") else in_json_words(sentence)
        return [FieldError(name + path.rstrip("`"), message)]
    return []


def _errors_within(name: str, kind: object, value: object) -> Iterator[FieldError]:
    """Errors inside the value, as ``settings.timezone``, ``items[3].email`` and ``columns.Titel``."""
    for part in _parts(kind):
        if isinstance(value, Mapping) and isinstance(part, type) and issubclass(part, Struct):
            yield from _explain(part, value, f"{name}.")
        elif isinstance(value, list) and get_origin(part) in (list, tuple):
            element = get_args(part)[0]
            for index, item in enumerate(value):
                yield from _value_errors(f"{name}[{index}]", element, item)
        elif isinstance(value, Mapping) and get_origin(part) is dict:
            for key, item in value.items():
                yield from _value_errors(f"{name}.{key}", get_args(part)[1], item)


def _parts(kind: object) -> Iterator[object]:
    """The types of a union, without what ``Annotated`` says of them."""
    if get_origin(kind) is Annotated:
        yield from _parts(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for part in get_args(kind):
            yield from _parts(part)
    else:
        yield kind


def _choice_error(kind: object) -> str:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"takes one of: {', '.join(str(member.value) for member in kind)}"
    if get_origin(kind) is Literal:
        return f"takes one of: {', '.join(map(str, get_args(kind)))}"
    # The choice may stand inside a list or a union.
    return next((error for part in get_args(kind) if (error := _choice_error(part))), "")


def in_json_words(sentence: str) -> str:
    """A sentence of msgspec without Python's types, as "expected a whole number, got text"."""
    # Patterns were given ``\Z`` for ``$`` (registry.py): the message shows them as they were declared.
    text = _CODE.sub(lambda found: _json_words(found.group(1)), sentence.replace("\\\\Z", "$"))
    return text[:1].lower() + text[1:]


def _json_words(code: str) -> str:
    # "int | str" becomes "a whole number or text".
    return " or ".join(_WORDS.get(part, part) for part in code.split(" | "))


def uuid_of(text: str) -> UUID | None:
    """The id that a text spells as the API does; Python's ``UUID`` takes braces, ``urn:uuid:`` and no hyphens, too."""
    return UUID(text) if _UUID.fullmatch(text) else None


def plain(text: str) -> str:
    """The text without control characters and marks of writing direction, which show names as what they are not."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char for char in text if char not in _BIDIRECTIONAL and unicodedata.category(char) not in ("Cc", "Zl", "Zp")
    )


def text_errors(field: str, text: str | None, shortest: int, longest: int) -> list[FieldError]:
    if text is not None and not shortest <= len(text) <= longest:
        return [FieldError(field, f"takes {shortest} to {longest} characters")]
    if text is not None and plain(text) != text:
        return [FieldError(field, "takes no control characters and no marks of writing direction")]
    # A name of blanks, or of characters without width, leaves a gap wherever it is shown.
    if text and shortest and not any(map(_is_seen, text)):
        return [FieldError(field, "takes at least one character that can be seen")]
    return []


def url_errors(field: str, text: str | None, longest: int) -> list[FieldError]:
    """Errors of an address of the web; empty text is none."""
    errors = text_errors(field, text, 0, longest)
    # Security: pages show it as a picture or a link, where `javascript:` and `data:` would be run.
    if not errors and text and not _WEB_ADDRESS.fullmatch(text):
        errors = [FieldError(field, "takes an address that begins with https:// or http://")]
    return errors


def is_blank(char: str) -> bool:
    return char.isspace() or unicodedata.category(char).startswith("C")


def _is_seen(char: str) -> bool:
    return not is_blank(char) and not unicodedata.category(char).startswith("M") and char not in _WITHOUT_SHAPE
