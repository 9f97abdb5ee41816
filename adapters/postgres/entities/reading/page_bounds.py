"""Bound on the bytes of a page: beyond it the server refuses before it sends the first row.

The texts and lists of a page's rows are measured by their lengths, which the server knows without reading what it
stores apart from a row. A page of a single row is always answered, or the row could not be read in a list at all.
"""

from collections.abc import Collection, Iterator, Sequence

import sqlalchemy as sa
from sqlalchemy import FromClause, func

from adapters.postgres.statements.compiled import constant, parameter
from adapters.postgres.statements.rows import Value
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.exact_values import indexed_room, is_open_ended
from domain.entities.kinds import Kind
from domain.entities.query.query import LARGEST_PAGE_BYTES
from domain.entities.query.read_query import MAX_PAGE_SIZE

_SIZE = parameter("size", sa.Integer())
_MOST = constant(LARGEST_PAGE_BYTES)
_BYTES_OF_A_CHARACTER = 4


def sizes_of(model: EntityModel, rows: FromClause, fields: Collection[str]) -> Iterator[Value]:
    """Bytes of the texts and lists among these fields of ``rows`` that the declaration does not keep short."""
    for field in _long_fields(model, fields):
        column = rows.c[field.name]
        text = column if field.kind is Kind.TEXT else sa.cast(column, sa.Text())
        yield func.coalesce(func.octet_length(text), constant(0))


def has_long_rows(model: EntityModel) -> bool:
    """Whether the declaration leaves open how long a row's texts and lists are."""
    return any(True for _ in _long_fields(model, model.names))


def _long_fields(model: EntityModel, fields: Collection[str]) -> Iterator[FieldModel]:
    """Fields whose texts and lists are measured; most entities have none, and their pages cost nothing more."""
    measured = [field for field in model.fields if field.name in fields and is_open_ended(field)]
    bytes_of = {field.name: _most_bytes(model, field) for field in measured}
    bounded = sum(most for most in bytes_of.values() if most is not None) * MAX_PAGE_SIZE
    for field in measured:
        if bytes_of[field.name] is None or bounded > LARGEST_PAGE_BYTES / 2:
            yield field


def within_bound(value: Value, place: Value, sizes: Sequence[Value], *, every: bool = False) -> Value:
    """The value, and an InvalidArgumentForPowerFunctionError where the rows of the page have too many bytes.

    ``place`` is a number from 1; rows above ``size`` are no part of the page, unless ``every`` row is. Reads of the
    service itself, of more rows than a page can have, are not bounded.
    """
    if not sizes:
        return value
    first, *others = sizes
    size = sum(others, start=first)
    bytes_of_page = func.sum(size if every else sa.case((place <= _SIZE, size))).over()
    is_page = _SIZE.between(constant(2), constant(MAX_PAGE_SIZE))
    # the root of a negative number is an error of its own class, which no other part of the statement can raise
    refused = sa.cast(func.sqrt(-sa.cast(place, sa.Double())), value.type)
    return sa.case((is_page & (bytes_of_page > _MOST), refused), else_=value)


def together_within_bound(value: Value, sizes: Sequence[Value]) -> Value:
    """The value, and an InvalidArgumentForPowerFunctionError where several rows have too many bytes together."""
    if not sizes:
        return value
    first, *others = sizes
    count, bytes_of_rows = func.count().over(), func.sum(sum(others, start=first)).over()
    refused = sa.cast(func.sqrt(-sa.cast(count, sa.Double())), value.type)
    return sa.case(((count > constant(1)) & (bytes_of_rows > _MOST), refused), else_=value)


def _most_bytes(model: EntityModel, field: FieldModel) -> int | None:
    """Most bytes of the field's text or list, None where neither the declaration nor an index bounds them."""
    if (room := indexed_room(model).get(field.wire)) is not None:
        return room
    if field.kind is not Kind.TEXT or field.max_length is None:
        return None
    return field.max_length * _BYTES_OF_A_CHARACTER
