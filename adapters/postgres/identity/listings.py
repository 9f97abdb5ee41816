"""Shared parts of the lists of users and tenants: tables, search, order and paging as SQLAlchemy Core.

Conditions and order vary with the request. Each list caches one compiled statement per shape; values are only
parameters.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, FromClause, Select, func
from sqlalchemy.sql.elements import Grouping

from adapters.postgres.schema.schema import metadata_for
from adapters.postgres.statements.compiled import parameter
from application.ports.identity.users import Listing
from domain.entities.declaration import Registry

TABLES = metadata_for(Registry({})).tables
"""Identity's tables by name, without entities' tables."""

SHAPES = 256
"""Number of statements cached per list, most recently used."""

_INDEXED_WORDS = 4
_FURTHER_WORDS = "further_words"


def search_values(search: str | None) -> dict[str, Any]:
    """Return LIKE patterns by parameter name.

    ``"ada lovelace"`` becomes ``{"word_0": "%ada%", "word_1": "%lovelace%"}``.
    """
    patterns = [f"%{_escaped(word)}%" for word in (search or "").split()]
    values: dict[str, Any] = {f"word_{n}": pattern for n, pattern in enumerate(patterns[:_INDEXED_WORDS])}
    # The caller chooses the number of words, which must not increase the number of shapes.
    return values | ({_FURTHER_WORDS: patterns[_INDEXED_WORDS:]} if len(patterns) > _INDEXED_WORDS else {})


def search_conditions(text: ColumnElement[str], names: Sequence[str]) -> Iterator[ColumnElement[bool]]:
    """Return conditions that ``text`` contains every word; ``names`` are the keys of ``search_values``."""
    searched = without_case(text)
    for name in names:
        if name == _FURTHER_WORDS:
            word = func.unnest(parameter(name, sa.ARRAY(sa.Text()))).column_valued("word")
            yield searched.like(sa.all_(func.array(sa.select(without_case(word)).scalar_subquery())))
        else:
            yield searched.like(without_case(parameter(name, sa.Text())))


def without_case(text: ColumnElement[str]) -> ColumnElement[str]:
    """Return text for comparison without case, in the expression of the indexes."""
    # The columns' collation, "C", folds only ASCII letters. Grouping: otherwise Core collates only b in `a || b`,
    # unlike the index.
    return func.lower(Grouping(text).collate("default"))


def ordering(table: FromClause, sort_by: str, *, descending: bool) -> list[ColumnElement[Any]]:
    """Return the order of a list: nulls are the largest; ties are broken by ascending id."""
    key = table.c[sort_by]
    return [key.desc() if descending else key.asc(), table.c.id]


def paged(statement: Select[Any]) -> Select[Any]:
    """Add limit and offset as parameters; ``page_values`` has their values."""
    return statement.limit(parameter("page_size", sa.Integer())).offset(parameter("skipped", sa.BigInteger()))


def page_values(listing: Listing) -> Mapping[str, Any]:
    return {"page_size": listing.page_size, "skipped": (listing.page - 1) * listing.page_size}


def total_told_by(listing: Listing, length: int) -> int | None:
    """Return the total if a page of ``length`` rows reveals it; None if a count is needed."""
    if 0 < length < listing.page_size or (listing.page == 1 and length == 0):
        return (listing.page - 1) * listing.page_size + length
    return None


def ensure_sortable(listing: Listing, columns: Sequence[str]) -> None:
    """Raise ValueError if the list has no column for ``sort_by``."""
    if listing.sort_by not in columns:
        raise ValueError(f"The list cannot be sorted by {listing.sort_by!r}: it has the columns {', '.join(columns)}.")


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
