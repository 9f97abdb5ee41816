"""Cursors: opaque text with the last row of a page, to request the next page."""

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


# The cursor contains the order: values of another order would give a wrong page without an error. ``cut`` numbers the
# truncated texts.
class _CursorContent(Struct, array_like=True, forbid_unknown_fields=True, omit_defaults=True):
    order: str
    values: list[str | None]
    cut: list[int] = []


LONGEST_TEXT = 200
"""Maximum characters of a text in a cursor: five such texts fit a request line."""


def write_cursor(sort: Sequence[SortKey], last: Sequence[object]) -> str:
    """Return the cursor for the page after the row with the sort values ``last``: unpadded URL-safe base64 of JSON.

    Truncates texts to ``LONGEST_TEXT`` characters; the store finds the complete texts by the row's id.
    """
    values = [None if value is None else _text(value) for value in last]
    cut = [number for number, value in enumerate(values) if value is not None and len(value) > LONGEST_TEXT]
    content = _CursorContent(_order(sort), [value and value[:LONGEST_TEXT] for value in values], cut)
    return urlsafe_b64encode(msgspec.json.encode(content)).rstrip(b"=").decode()


def read_cursor(registry: Registry, model: EntityModel, sort: Sequence[SortKey], text: str) -> tuple[object, ...]:
    """Return the sort values in the cursor, in the Python types of their fields.

    Raises BadRequest for an invalid cursor, and for a cursor from a list with another order.
    """
    try:
        # Security: clients may change a cursor, so check each value like a query parameter.
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
    raise BadRequest("The cursor is not valid for this order: use nextCursor of a response with the same sort.")


def _order(sort: Sequence[SortKey]) -> str:
    return ",".join(("-" if key.descending else "") + ".".join((*key.path.steps, key.path.field)) for key in sort)


def _value(field: FieldModel, text: str | None) -> object:
    value = None if text is None else read_stored(field, text)
    if isinstance(value, Decimal) and field.money is not None and _digits_after_point(value) > field.money.scale:
        # No row has a value with more digits, so the service did not write this cursor.
        raise NotAValue(f"accepts at most {field.money.scale} digits after the point")
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
