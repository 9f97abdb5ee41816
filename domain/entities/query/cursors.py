"""Where a page ended, as the opaque text that asks for the one after it."""

import binascii
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from enum import Enum

import msgspec
from msgspec import Struct

from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.query.query import SortKey, field_of
from domain.entities.query.values import NotAValue, read_value
from domain.errors import BadRequest


class _Place(Struct, array_like=True, forbid_unknown_fields=True):
    """The order it belongs to, and the last row's values in it."""

    order: str
    values: list[str | None]


def write_cursor(sort: Sequence[SortKey], last: Sequence[object]) -> str:
    place = _Place(_order(sort), [None if value is None else _text(value) for value in last])
    return urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()


def read_cursor(registry: Registry, model: EntityModel, sort: Sequence[SortKey], text: str) -> tuple[object, ...]:
    """Raises BadRequest for what was never a cursor, and for one of another order."""
    try:
        place = msgspec.json.decode(b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True), type=_Place)
        fields = [field_of(registry, model, key.path) for key in sort]
        if place.order == _order(sort) and len(place.values) == len(fields):
            return tuple(_value(one, value) for one, value in zip(fields, place.values, strict=True))
    except (ValueError, binascii.Error, msgspec.MsgspecError, NotAValue):
        pass
    raise BadRequest("The cursor is not one that a page in this order gave.")


def _order(sort: Sequence[SortKey]) -> str:
    return ",".join(("-" if key.descending else "") + ".".join((*key.path.steps, key.path.field)) for key in sort)


def _value(one: FieldModel, text: str | None) -> object:
    return None if text is None else read_value(one, text)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Enum):
        return str(value.value)
    return value.isoformat() if isinstance(value, date) else str(value)
