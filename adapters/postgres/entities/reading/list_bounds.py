"""Size limit of the related rows in an answer: beyond it the server refuses to build them.

Each list is summed up while its rows are written, the lists of a row before they are combined, and those of all rows
before they are sent. Above the maximum length the statement raises PostgreSQL's own error class for texts that are too
long.
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
from domain.entities.query.responses import MOST_INCLUDED_BYTES

_SIZE = parameter("size", sa.Integer())
_PLACE = "place"
_MOST = constant(MOST_INCLUDED_BYTES)
_LONGER_THAN_A_TEXT = constant(2**31 - 1)


class ListColumn(Struct, frozen=True):
    """A column with a list of related rows, or with an object that contains such a list at the path ``inside``."""

    name: str
    inside: tuple[str, ...] = ()


def row_statement(
    columns: list[Label[Any]], rows: Select[Any], parts: list[Part], lists: list[ListColumn], place: Value | None = None
) -> RowStatement:
    """Build the statement of an answer: ``columns`` of ``rows``, ordered by ``place``.

    The columns begin with those of ``parts``. The row after ``size`` only indicates a next page: its lists are not
    built.
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
    """Build a JSON array of ``items``, which selects the JSON of each row.

    The size of nested lists is summed during the build; too many bytes end the statement.
    """
    if has_lists:
        # OFFSET prevents PostgreSQL from building each item twice, once only to measure it.
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
    """The columns, refused if the lists in ``lists`` (by column number) have too many bytes together."""
    numbers = {number for number, _ in lists}
    # Numbered, because columns added by a statement may have the name of a field.
    numbered = [column.element.label(f"column {number}") for number, column in enumerate(columns)]
    if place is not None:
        numbered = [
            sa.case((place <= _SIZE, column.element)).label(column.name) if number in numbers else column
            for number, column in enumerate(numbered)
        ]
        numbered.append(place.label(_PLACE))
    # The offset prevents writing each list once per reference.
    made = rows.add_columns(*numbered).offset(constant(0)).subquery("rows made")
    size = _size(made, lists)
    fitting = [
        (_unless(size > _MOST, column) if number in numbers else column).label(column.name)
        for number, column in enumerate(made.c)
    ]
    # Materialize, because all lists are measured before the first is sent.
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
    sizes: list[Value] = []
    for number, inside in lists:
        column = rows.c[f"column {number}"]
        listed = func.json_extract_path(column, *map(constant, inside), type_=JSON()) if inside else column
        # A related row in JSON may be null, and then has no list.
        sizes.append(func.coalesce(_bytes(listed), constant(0)) if inside else _bytes(listed))
    first, *others = sizes
    return sum(others, start=first)


def _bytes(value: Value) -> Value:
    return func.octet_length(sa.cast(value, sa.Text()))


def _unless(is_too_long: Value, value: Value) -> Value:
    """Return the value, or raise ProgramLimitExceededError through an impossibly long text."""
    refused = sa.cast(func.repeat(sa.cast(value, sa.Text()), _LONGER_THAN_A_TEXT), JSON())
    return sa.case((is_too_long, refused), else_=value)
