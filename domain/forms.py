"""Forms: conversion of untyped JSON to structs, with all invalid fields reported at once and displayable texts."""

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
"""Maximum number of reported errors per list or object, to limit the size of the answer."""

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
    "Invalid RFC3339 encoded date": "must be a date such as 2026-11-20",
    "Invalid decimal string": "must be a number in plain digits",
    "Invalid UUID": "must be an id (UUID) such as 0198c0de-0000-7000-8000-000000000000",
}

_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Unicode classifies these invisible characters as letters and symbols: Hangul fillers, an empty Braille pattern, a null
# notehead.
_WITHOUT_SHAPE = frozenset("\u115f\u1160\u2800\u3164\uffa0\U0001d159")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WEB_ADDRESS = re.compile(r"https?://[^\s/?#\\]+[^\s\\]*", re.IGNORECASE)


def documented(least: int | None = None, most: int | None = None, **more: str) -> msgspec.Meta:
    """Return bounds of a text for the OpenAPI document only: ``Annotated[str, documented(1, 200)]``.

    The use case checks them, some after trimming, and reports each failing field. ``more`` adds schema keys such as
    ``format`` and ``pattern``.
    """
    bounds = {key: value for key, value in (("minLength", least), ("maxLength", most)) if value is not None}
    return msgspec.Meta(extra_json_schema={**bounds, **more})


def read_form(kind: type[F], body: Mapping[str, object], *, explains: bool = True) -> F:
    """Convert the body to the struct ``kind``. Raises ValidationError with every invalid or unknown field.

    Fields accept JSON types; a decimal may also be text. An unknown field's error suggests the nearest name. If
    ``explains`` is false, the error names no fields, to save time.
    """
    if moments := _moment_names(kind):
        body = _with_moments(moments, body)
    # msgspec stops at the first error, so read a failing body field by field.
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
    """Return ``5.0`` as 5 where ``kind`` requires integers: JSON has one number type."""
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
    """Errors of the fields of ``kind``; ``inside`` is the prefix of their names."""
    known = _fields_by_name(kind)
    for name, info in known.items():
        if name not in body:
            if info.required:
                yield FieldError(inside + name, "is required")
        else:
            yield from _value_errors(inside + name, info.type, body[name])
    if not inside or kind.__struct_config__.forbid_unknown_fields:
        yield from (FieldError(inside + name, unknown_name(name, known)) for name in body if name not in known)


@lru_cache(maxsize=1024)  # msgspec evaluates every annotation of the struct again
def _fields_by_name(kind: type[Struct]) -> Mapping[str, FieldInfo]:
    return {info.encode_name: info for info in fields(kind)}


def _value_errors(name: str, kind: object, value: object) -> Sequence[FieldError]:
    if isinstance(value, NotAMoment):
        return [FieldError(name, str(value))]
    try:
        msgspec.convert(value, cast(Any, kind))
    except msgspec.ValidationError as error:
        # Errors inside the value are more specific, and there may be several.
        if errors := list(islice(_errors_within(name, kind, value), MOST_WITHIN)):
            return errors
        sentence, _, path = str(error).partition(" - at `$")
        message = _choice_error(kind) if sentence.startswith("Invalid enum value") else in_json_words(sentence)
        return [FieldError(name + path.rstrip("`"), message)]
    return []


def _errors_within(name: str, kind: object, value: object) -> Iterator[FieldError]:
    """Yield the errors inside the value: ``settings.timezone``, ``items[3].email``, ``columns.Titel``."""
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
    if get_origin(kind) is Annotated:
        yield from _parts(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for part in get_args(kind):
            yield from _parts(part)
    else:
        yield kind


def _choice_error(kind: object) -> str:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"must be one of: {', '.join(str(member.value) for member in kind)}"
    if get_origin(kind) is Literal:
        return f"must be one of: {', '.join(map(str, get_args(kind)))}"
    # The choice may be inside a list or a union.
    return next((error for part in get_args(kind) if (error := _choice_error(part))), "")


def in_json_words(sentence: str) -> str:
    """Return a msgspec sentence without Python's types, as "expected a whole number, got text"."""
    # The registry replaced ``$`` by ``\Z`` (registry.py): show patterns as declared.
    shown = sentence.replace("\\\\Z", "$")
    text = _CODE.sub(lambda found: " or ".join(_WORDS.get(part, part) for part in found[1].split(" | ")), shown)
    return _WORDS.get(sentence) or text[:1].lower() + text[1:]


def uuid_of(text: str) -> UUID | None:
    """Parse an id in the API's notation, because Python's ``UUID`` also accepts braces and ``urn:uuid:``."""
    return UUID(text) if _UUID.fullmatch(text) else None


def plain(text: str) -> str:
    """Remove control characters and direction marks, because they can disguise names."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char for char in text if char not in _BIDIRECTIONAL and unicodedata.category(char) not in ("Cc", "Zl", "Zp")
    )


def text_errors(field: str, text: str | None, shortest: int, longest: int) -> list[FieldError]:
    if text is not None and not shortest <= len(text) <= longest:
        return [FieldError(field, f"must have {shortest} to {longest} characters")]
    if text is not None and plain(text) != text:
        return [FieldError(field, "must not contain control characters or marks of writing direction")]
    # A blank or invisible name leaves a gap.
    if text and shortest and not any(map(_is_seen, text)):
        return [FieldError(field, "needs at least one visible character")]
    return []


def url_errors(field: str, text: str | None, longest: int) -> list[FieldError]:
    """Return the errors of a web address; an empty text is valid."""
    errors = text_errors(field, text, 0, longest)
    # Security: pages show it as a picture or link, where `javascript:` and `data:` would run.
    if not errors and text and not _WEB_ADDRESS.fullmatch(text):
        errors = [FieldError(field, "must be an address that begins with https:// or http://")]
    return errors


def is_blank(char: str) -> bool:
    return char.isspace() or unicodedata.category(char).startswith("C")


def _is_seen(char: str) -> bool:
    return not is_blank(char) and not unicodedata.category(char).startswith("M") and char not in _WITHOUT_SHAPE
