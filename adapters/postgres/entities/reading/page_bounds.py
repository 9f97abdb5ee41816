"""Size limit of a page: above it, PostgreSQL raises an error before it returns the first row.

The limit uses the lengths of texts and lists, which PostgreSQL knows without reading out-of-line values. A page of a
single row has no limit, because otherwise no list could return that row.
"""

from collections.abc import Collection, Iterator, Sequence

import sqlalchemy as sa
from sqlalchemy import FromClause, func

from adapters.postgres.statements.compiled import constant, parameter
from adapters.postgres.statements.rows import Value
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.exact_values import indexed_room, is_open_ended
from domain.entities.kinds import Kind
from domain.entities.query.read_query import MAX_PAGE_SIZE
from domain.entities.query.responses import LARGEST_PAGE_BYTES

_SIZE = parameter("size", sa.Integer())
_MOST = constant(LARGEST_PAGE_BYTES)
_BYTES_OF_A_CHARACTER = 4


def sizes_of(model: EntityModel, rows: FromClause, fields: Collection[str]) -> Iterator[Value]:
    """Yield the byte size of each of the ``fields`` of ``rows`` that is a text or list without a declared length."""
    for field in _long_fields(model, fields):
        column = rows.c[field.name]
        text = column if field.kind is Kind.TEXT else sa.cast(column, sa.Text())
        yield func.coalesce(func.octet_length(text), constant(0))


def has_long_rows(model: EntityModel) -> bool:
    """Return whether rows have texts or lists without a declared length."""
    return any(True for _ in _long_fields(model, model.names))


def _long_fields(model: EntityModel, fields: Collection[str]) -> Iterator[FieldModel]:
    """Return the texts and lists to measure; most entities have none."""
    measured = [field for field in model.fields if field.name in fields and is_open_ended(field)]
    bytes_of = {field.name: _most_bytes(model, field) for field in measured}
    bounded = sum(most for most in bytes_of.values() if most is not None) * MAX_PAGE_SIZE
    for field in measured:
        if bytes_of[field.name] is None or bounded > LARGEST_PAGE_BYTES / 2:
            yield field


def within_bound(value: Value, place: Value, sizes: Sequence[Value], *, every: bool = False) -> Value:
    """Return the value, or raise an InvalidArgumentForPowerFunctionError if the page's rows have too many bytes.

    ``place`` counts from 1; rows above ``size`` count only with ``every``. Larger reads of the service itself are not
    bounded.
    """
    if not sizes:
        return value
    first, *others = sizes
    size = sum(others, start=first)
    bytes_of_page = func.sum(size if every else sa.case((place <= _SIZE, size))).over()
    is_page = _SIZE.between(constant(2), constant(MAX_PAGE_SIZE))
    # The square root of a negative number raises an error class that no other expression of the statement raises.
    refused = sa.cast(func.sqrt(-sa.cast(place, sa.Double())), value.type)
    return sa.case((is_page & (bytes_of_page > _MOST), refused), else_=value)


def together_within_bound(value: Value, sizes: Sequence[Value]) -> Value:
    """Return the value, or raise InvalidArgumentForPowerFunctionError if several rows together have too many bytes."""
    if not sizes:
        return value
    first, *others = sizes
    count, bytes_of_rows = func.count().over(), func.sum(sum(others, start=first)).over()
    refused = sa.cast(func.sqrt(-sa.cast(count, sa.Double())), value.type)
    return sa.case(((count > constant(1)) & (bytes_of_rows > _MOST), refused), else_=value)


def _most_bytes(model: EntityModel, field: FieldModel) -> int | None:
    if (room := indexed_room(model).get(field.wire)) is not None:
        return room
    if field.kind is not Kind.TEXT or field.max_length is None:
        return None
    return field.max_length * _BYTES_OF_A_CHARACTER
