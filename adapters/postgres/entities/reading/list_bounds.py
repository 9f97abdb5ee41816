"""Bound on the lists of related rows in an answer: beyond it the server refuses to make them.

Each list is added up while its rows are written, the lists of a row before they are put beside each other, and those of
all rows before they are sent. What is too long is told by an error of the class that PostgreSQL raises itself where a
text would be longer than it can be.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import Label, Select, func
from sqlalchemy.dialects.postgresql import JSON

from adapters.postgres.entities.reading.row_encoder import Part, RowEncoder, RowStatement, names_of
from adapters.postgres.statements.compiled import compiled, constant, parameter
from adapters.postgres.statements.rows import Value
from adapters.postgres.statements.writing import materialized
from domain.entities.query.query import MOST_INCLUDED_BYTES

_SIZE = parameter("size", sa.Integer())
_PLACE = "place"
_MOST = constant(MOST_INCLUDED_BYTES)
_LONGER_THAN_A_TEXT = constant(2**31 - 1)


class ListColumn(Struct, frozen=True):
    """A column of an answer with a list of related rows: itself, or ``inside`` it, by the way to the list."""

    name: str
    inside: tuple[str, ...] = ()


def row_statement(
    columns: list[Label[Any]], rows: Select[Any], parts: list[Part], lists: list[ListColumn], place: Value | None = None
) -> RowStatement:
    """The statement of an answer: ``columns`` of ``rows``, which selects nothing yet, in the order of ``place``.

    The columns begin with those of ``parts``. Behind the place ``size`` is the row that only tells of a next page: its
    lists are not made.
    """
    encoder = RowEncoder(names_of(parts))
    if not lists:
        made = compiled(rows.add_columns(*columns).order_by(*([] if place is None else [place])))
        return RowStatement(made.text, made.parameters, encoder)
    by_name = {column.name: number for number, column in enumerate(columns[: encoder.size])}
    measured = [(by_name[column.name], column.inside) for column in lists]
    made = compiled(_bounded(columns, rows, measured, place))
    return RowStatement(made.text, made.parameters, encoder, has_lists=True)


def bounded_list(items: Select[Any], name: str, *, has_lists: bool) -> Select[Any]:
    """A JSON array of ``items``, which selects the JSON of each row.

    Rows that have lists themselves are added up while they are made, and too many bytes end the statement there.
    """
    if has_lists:
        # an offset keeps the server from writing each row once to measure it and once more
        (item,) = items.offset(constant(0)).subquery(f"{name} made").c
        so_far = func.sum(_bytes(item)).over(rows=(None, 0))
        items = sa.select(_unless(so_far > _MOST, item).label("item"))
    (item,) = items.subquery(f"{name} items").c
    made = sa.select(func.array_to_json(func.array_agg(item), type_=JSON()).label("list")).subquery(name)
    nothing = sa.cast(constant("[]"), JSON())
    return sa.select(func.coalesce(_unless(_bytes(made.c.list) > _MOST, made.c.list), nothing))


def _bounded(
    columns: Sequence[Label[Any]],
    rows: Select[Any],
    lists: Sequence[tuple[int, tuple[str, ...]]],
    place: Value | None = None,
) -> Select[Any]:
    """The columns of the rows, if together the lists in those of ``lists`` (by number) have few enough bytes."""
    numbers = {number for number, _ in lists}
    # numbered, for what a statement adds behind the columns of an answer may have the name of a field
    numbered = [column.element.label(f"column {number}") for number, column in enumerate(columns)]
    if place is not None:
        numbered = [
            sa.case((place <= _SIZE, column.element)).label(column.name) if number in numbers else column
            for number, column in enumerate(numbered)
        ]
        numbered.append(place.label(_PLACE))
    # an offset keeps the server from writing each list once for every place that names it
    made = rows.add_columns(*numbered).offset(constant(0)).subquery("rows made")
    size = _size(made, lists)
    fitting = [
        (_unless(size > _MOST, column) if number in numbers else column).label(column.name)
        for number, column in enumerate(made.c)
    ]
    # run once and kept: all lists are measured before the first is sent
    found = materialized(sa.select(*fitting), "rows to answer")
    is_too_long = sa.select(func.sum(_size(found, lists)) > _MOST).scalar_subquery()
    answered = [
        (_unless(is_too_long, found.c[f"column {number}"]) if number in numbers else found.c[f"column {number}"]).label(
            column.name
        )
        for number, column in enumerate(columns)
    ]
    return sa.select(*answered).select_from(found).order_by(*([] if place is None else [found.c[_PLACE]]))


def _size(rows: sa.FromClause, lists: Sequence[tuple[int, tuple[str, ...]]]) -> Value:
    """Bytes of a row's lists together."""
    sizes: list[Value] = []
    for number, inside in lists:
        column = rows.c[f"column {number}"]
        listed = func.json_extract_path(column, *map(constant, inside), type_=JSON()) if inside else column
        # a row that is included as JSON may be null, and has no list then
        sizes.append(func.coalesce(_bytes(listed), constant(0)) if inside else _bytes(listed))
    first, *others = sizes
    return sum(others, start=first)


def _bytes(value: Value) -> Value:
    return func.octet_length(sa.cast(value, sa.Text()))


def _unless(is_too_long: Value, value: Value) -> Value:
    """The value, and a ProgramLimitExceededError where it is too long: a text that nobody could hold."""
    refused = sa.cast(func.repeat(sa.cast(value, sa.Text()), _LONGER_THAN_A_TEXT), JSON())
    return sa.case((is_too_long, refused), else_=value)
