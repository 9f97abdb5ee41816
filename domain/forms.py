"""Reads untyped JSON into structs, naming every invalid field at once."""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from domain.errors import FieldError, ValidationError, unknown_name

F = TypeVar("F", bound=Struct)

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


def read_form(kind: type[F], body: Mapping[str, object], *, explains: bool = True) -> F:
    """The body as a ``kind``. Raises ValidationError with every invalid and every unknown field.

    Fields take the types of JSON; a decimal may also be text. An unknown field gets the nearest name as a hint. Where
    nobody reads the errors, ``explains`` is false and the ValidationError names no field, which takes far less time.
    """
    # msgspec stops at the first error; only a body that fails is read field by field for all of them.
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError:
        raise ValidationError(fields=tuple(_explain(kind, body)) if explains else ()) from None


def _explain(kind: type[Struct], body: Mapping[str, object]) -> Iterator[FieldError]:
    known = _fields_by_name(kind)
    for name, info in known.items():
        if name not in body:
            if info.required:
                yield FieldError(name, "is required")
        elif (error := _field_error(info, body[name])) is not None:
            yield error
    yield from (FieldError(name, unknown_name(name, known)) for name in body if name not in known)


@lru_cache(maxsize=1024)  # msgspec evaluates every annotation of the struct anew
def _fields_by_name(kind: type[Struct]) -> Mapping[str, FieldInfo]:
    return {info.encode_name: info for info in fields(kind)}


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
