"""Cursors: opaque text that names the last row of a page and asks for the page after it."""

import binascii
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from enum import Enum

import msgspec
from msgspec import Struct

from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.kinds import TEXTS
from domain.entities.query.kinds import read_stored
from domain.entities.query.query import Beginning, SortKey, field_of
from domain.entities.query.values import NotAValue, read_text
from domain.errors import BadRequest


# The order travels in the cursor: values of another order would give a page from nowhere without an error.
# ``cut`` numbers the values that are only the beginning of a text.
class _CursorContent(Struct, array_like=True, forbid_unknown_fields=True, omit_defaults=True):
    order: str
    values: list[str | None]
    cut: list[int] = []


LONGEST_TEXT = 200
"""Characters of a text in a cursor: with five such texts it still fits a request line."""


def write_cursor(sort: Sequence[SortKey], last: Sequence[object]) -> str:
    """The cursor for the page after the row with the sort values ``last``: URL-safe base64 of JSON, without padding.

    A text of more than ``LONGEST_TEXT`` characters is cut to them; the store reads the rest from the row, by its id.
    """
    values = [None if value is None else _text(value) for value in last]
    cut = [number for number, value in enumerate(values) if value is not None and len(value) > LONGEST_TEXT]
    content = _CursorContent(_order(sort), [value and value[:LONGEST_TEXT] for value in values], cut)
    return urlsafe_b64encode(msgspec.json.encode(content)).rstrip(b"=").decode()


def read_cursor(registry: Registry, model: EntityModel, sort: Sequence[SortKey], text: str) -> tuple[object, ...]:
    """Sort values of the row that the cursor names, in the Python types of their fields.

    Raises BadRequest for a text that is no cursor, and for a cursor of another order.
    """
    try:
        # Clients may change a cursor: each value is read as strictly as a query parameter.
        content = msgspec.json.decode(
            b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True), type=_CursorContent
        )
        fields = [field_of(registry, model, key.path) for key in sort]
        if content.order == _order(sort) and len(content.values) == len(fields):
            values = [_value(field, value) for field, value in zip(fields, content.values, strict=True)]
            for number in content.cut[: len(fields)]:
                values[number] = _beginning(fields[number], content.values[number])
            return tuple(values)
    except (ValueError, IndexError, binascii.Error, msgspec.MsgspecError, NotAValue):
        pass
    raise BadRequest("The cursor is not valid for this order: take nextCursor from a response with the same sort.")


def _order(sort: Sequence[SortKey]) -> str:
    return ",".join(("-" if key.descending else "") + ".".join((*key.path.steps, key.path.field)) for key in sort)


def _value(field: FieldModel, text: str | None) -> object:
    value = None if text is None else read_stored(field, text)
    if isinstance(value, Decimal) and field.money is not None and _digits_after_point(value) > field.money.scale:
        # no row has such a value, so that no cursor was written with it
        raise NotAValue(f"takes at most {field.money.scale} digits after the point")
    return value


def _beginning(field: FieldModel, text: str | None) -> Beginning:
    if field.kind not in TEXTS or text is None:
        raise NotAValue("is not a text")
    return Beginning(read_text(text))


def _digits_after_point(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Enum):
        return str(value.value)
    return value.isoformat() if isinstance(value, date) else str(value)
