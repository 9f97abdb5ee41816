"""Bound on the lists of related rows in an answer: beyond it the server sends none of them."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Label, Select, func

from adapters.postgres.entities.reading.row_encoder import Part, RowEncoder, RowStatement, names_of
from adapters.postgres.statements.compiled import compiled, constant, parameter
from adapters.postgres.statements.rows import Value
from adapters.postgres.statements.writing import materialized
from domain.entities.query.query import MOST_INCLUDED

_SIZE = parameter("size", sa.Integer())
_PLACE = "place"


def row_statement(
    columns: list[Label[Any]], rows: Select[Any], parts: list[Part], lists: list[str], place: Value | None = None
) -> RowStatement:
    """The statement of an answer: ``columns`` of ``rows``, which selects nothing yet, in the order of ``place``.

    The columns begin with those of ``parts``; ``lists`` are the names of those with lists of related rows. Behind the
    place ``size`` is the row that only tells of a next page.
    """
    encoder = RowEncoder(names_of(parts))
    if not lists:
        made = compiled(rows.add_columns(*columns).order_by(*([] if place is None else [place])))
        return RowStatement(made.text, made.parameters, encoder)
    places = [number for number, column in enumerate(columns[: encoder.size]) if column.name in lists]
    made = compiled(_bounded(columns, rows, places, place))
    return RowStatement(made.text, made.parameters, encoder, places[0])


def _bounded(
    columns: Sequence[Label[Any]], rows: Select[Any], lists: Sequence[int], place: Value | None = None
) -> Select[Any]:
    """The columns of the rows, with null for each of ``lists`` (by number) if together they have too many bytes."""
    # numbered, for what a statement adds behind the columns of an answer may have the name of a field
    numbered = [column.element.label(f"column {number}") for number, column in enumerate(columns)]
    placed = [] if place is None else [place.label(_PLACE)]
    # run once and kept: each list is measured before it is sent
    found = materialized(rows.add_columns(*numbered, *placed), "rows to answer")
    kept = [found.c[column.name] for column in numbered]
    sizes = [func.octet_length(sa.cast(kept[number], sa.Text())) for number in lists]
    all_sizes: Value = sum(sizes[1:], start=sizes[0])
    measured = sa.select(func.sum(all_sizes) <= constant(MOST_INCLUDED * 1024 * 1024))
    fits = measured.where(*([] if place is None else [found.c[_PLACE] <= _SIZE])).scalar_subquery()
    answered = [
        (sa.case((fits, column)) if number in lists else column).label(columns[number].name)
        for number, column in enumerate(kept)
    ]
    return sa.select(*answered).select_from(found).order_by(*([] if place is None else [found.c[_PLACE]]))
