"""Values as stored: a value from a body is not rounded, has one spelling, and is never infinite or too long.

If a declaration became narrower, the service reads older stored values only by the type of their column.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import assert_never

import msgspec
from msgspec import Raw, Struct

from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.kinds import BITS, KINDS, LISTS, Kind
from domain.errors import FieldError
from domain.forms import uuid_of
from domain.moments import NotAMoment, exact_moment

MOST_INDEXED = 2_600
"""Maximum bytes of an index's fields together.

PostgreSQL accepts entries of 2,704, with the tenant, the id and a header.
"""

_ITEM = 8  # each text in an array has a 4-byte length and 4-byte alignment
_ID_WRITTEN, _ID_STORED = _ITEM + 36, 16  # bytes of an id in a list, as text and in the index

_NO_ID = "must be an id (UUID) such as 0198c0de-0000-7000-8000-000000000000"
# 64 bits have 19 digits; the field's bounds refuse longer numbers, regardless of their value.
_DIGITS, _BEYOND = 20, 10**20

Check = Callable[[FieldModel, object], Iterator[FieldError]]


def plain_numbers(wires: Sequence[str], body: Mapping[str, object]) -> Mapping[str, object]:
    """Convert the body's whole numbers to ``int``: the reader returns long ones as decimals to preserve digits."""
    read = {wire: whole_number(value) for wire in wires if isinstance(value := body.get(wire), Decimal)}
    return {**body, **read} if read else body


def whole_number(number: Decimal) -> int | Decimal:
    """Convert ``5``, ``5.0`` and ``5e0`` to 5, because JSON has one number for them (JSON Schema, 6.1.1); leave
    fractions unchanged.
    """
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or (exponent < 0 and any(digits[exponent:])):
        return number
    if not number:
        return 0  # 0e999 too, because the exponent of zero has no meaning
    # int() of a very long number is slow.
    return int(number) if number.adjusted() < _DIGITS else (-_BEYOND if sign else _BEYOND)


def check_of(kind: Kind) -> Check | None:
    """Return a check for errors that the field's type would miss, or None."""
    match kind:
        case Kind.FLOAT:
            return _float_errors
        case Kind.UUID:
            return _id_errors
        case Kind.UUIDS:
            return _list_errors
        case Kind.LINKS:
            return _link_errors
        case Kind.TEXT | Kind.INTEGER | Kind.BIG_INTEGER | Kind.DECIMAL | Kind.BOOLEAN | Kind.DATE:
            return None
        case Kind.CHOICE | Kind.TEXTS | Kind.TIMESTAMP:
            return None
        case _:
            assert_never(kind)


def _float_errors(field: FieldModel, value: object) -> Iterator[FieldError]:
    stored = float(value) if isinstance(value, Decimal | float) else 0.0
    if not isfinite(stored):
        yield FieldError(field.wire, "must be a finite number, between -1.8e308 and 1.8e308")
    elif not stored and isinstance(value, Decimal) and value:
        yield FieldError(field.wire, "must be 0 or have an absolute value of at least 5e-324")


def _id_errors(field: FieldModel, value: object) -> Iterator[FieldError]:
    # Accept one spelling of an id: Python also accepts braces, ``urn:uuid:`` and missing hyphens.
    if isinstance(value, str) and uuid_of(value) is None:
        yield FieldError(field.wire, _NO_ID)


def _list_errors(field: FieldModel, value: object) -> Iterator[FieldError]:
    for n, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, str) and uuid_of(item) is None:
            yield FieldError(f"{field.wire}[{n}]", _NO_ID)


def _link_errors(field: FieldModel, value: object) -> Iterator[FieldError]:
    yield from _list_errors(field, value)
    seen: dict[str, int] = {}
    for n, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, str) and seen.setdefault(item.lower(), n) != n:
            yield FieldError(f"{field.wire}[{n}]", f"is the same id as {field.wire}[{seen[item.lower()]}]")


def indexed_room(model: EntityModel) -> Mapping[str, int]:
    """Return the maximum bytes of each indexed text and list, by JSON name.

    Within an index, a text gets at most the bytes that its ``max_length`` needs; the other fields share the rest
    equally.
    """
    room: dict[str, int] = {}
    for names in _indexes(model):
        fields = [model.by_name[name] for name in names]
        open_ended = sorted((field for field in fields if is_open_ended(field)), key=_most_bytes)
        left = max(MOST_INDEXED - sum(_indexed_bytes(field) for field in fields if not is_open_ended(field)), 0)
        for place, field in enumerate(open_ended):
            share = min(_most_bytes(field), left // (len(open_ended) - place))
            left -= share
            most = share * _ID_WRITTEN // _ID_STORED if field.kind is Kind.UUIDS else share
            room[field.wire] = min(most, room.get(field.wire, most))
    return room


def is_open_ended(field: FieldModel) -> bool:
    """Return whether the field's values are texts or lists, which have no fixed maximum size."""
    return field.kind is Kind.TEXT or (field.kind in LISTS and field.link is None)


def _most_bytes(field: FieldModel) -> int:
    if field.kind is not Kind.TEXT or field.max_length is None:
        return MOST_INDEXED
    return min(4 * field.max_length, MOST_INDEXED)


def _indexes(model: EntityModel) -> Iterator[Sequence[str]]:
    yield from (unique.fields for unique in model.unique)
    yield from (index.fields for index in model.declaration.indexes)
    yield (model.declaration.sort.removeprefix("-"),)


def _indexed_bytes(field: FieldModel) -> int:
    longest = max((len(choice.encode()) for choice in field.choices), default=0)
    return 24 + longest + (field.money.precision // 2 if field.money is not None else 0)


def room_errors(room: Mapping[str, int], body: Mapping[str, object]) -> Iterator[FieldError]:
    """Return errors of texts and lists too long for their indexes."""
    for wire, most in room.items():
        value = body.get(wire)
        # A character has at most four bytes, so few texts need measuring.
        if isinstance(value, str) and 4 * len(value) > most and _bytes_of(value) > most:
            yield FieldError(wire, f"must have at most {most} bytes in UTF-8, for an index holds it")
        elif isinstance(value, list) and sum(_ITEM + _bytes_of(item) for item in value) > most:
            yield FieldError(wire, "must have fewer or shorter items, for an index holds them")


def _bytes_of(value: object) -> int:
    """Bytes of a text in an index; lower case may be longer: "Ⱥ" has two bytes, "ⱥ" three."""
    if not isinstance(value, str):
        return 0
    return max(len(text.encode(errors="surrogatepass")) for text in (value, value.lower()))


def as_column(field: FieldModel, value: object) -> object:
    """Convert a body's value for the field's column, whatever the declaration allows.

    An unknown enum member stays text. Raises msgspec.ValidationError for a value of another type.
    """
    if field.kind in BITS and isinstance(value, Decimal):
        value = whole_number(value)
    if field.kind is Kind.TIMESTAMP and isinstance(value, str):
        try:
            value = exact_moment(value)
        except NotAMoment as error:
            raise msgspec.ValidationError(str(error)) from None
    return msgspec.convert(value, KINDS[field.kind].python | None)


def made_of_json(model: EntityModel, row: bytes | Raw) -> Struct:
    """Build the entity's struct from a stored row; values no longer allowed remain as stored."""
    try:
        return _made(model, msgspec.json.decode(row, type=_row_form(model)))
    except msgspec.ValidationError:
        members = msgspec.json.decode(row, type=dict[str, Raw])
        return model.made_of({field.name: _read(field, members[field.wire]) for field in model.declared})


def all_made_of_json(model: EntityModel, rows: bytes | Raw) -> Sequence[Struct]:
    """Build the structs from a JSON array of stored rows."""
    try:
        read: list[Struct] = msgspec.json.decode(rows, type=list[_row_form(model)])  # type: ignore[misc]
    except msgspec.ValidationError:
        return [made_of_json(model, row) for row in msgspec.json.decode(rows, type=list[Raw])]
    return [_made(model, row) for row in read]


@lru_cache(maxsize=1024)
def _row_form(model: EntityModel) -> type[Struct]:
    """The entity's struct, or one with the same fields if msgspec refuses the entity's.

    msgspec refuses limits on nullable types: ``Annotated[str | None, Meta(max_length=3)]``.
    """
    try:
        msgspec.json.Decoder(model.struct)
    except TypeError:
        wires = {field.name: field.wire for field in model.declared}
        return msgspec.defstruct(model.name, [(field.name, field.type) for field in model.declared], rename=wires)
    return model.struct


def _made(model: EntityModel, read: Struct) -> Struct:
    return read if isinstance(read, model.struct) else model.made_of(msgspec.structs.asdict(read))


def _read(field: FieldModel, value: Raw) -> object:
    try:
        return msgspec.json.decode(value, type=field.type)
    except msgspec.ValidationError:
        return msgspec.json.decode(value, type=KINDS[field.kind].python | None)
