"""Parts that the lists of users and tenants share: their tables, search, order and paging as SQLAlchemy Core.

Conditions and order vary with the request. The statement of each shape is compiled once and remembered by its list;
values travel as parameters only.
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
"""Tables of identity by name, without those of any entity."""

SHAPES = 256
"""Statements that each list remembers; the least recently used goes first."""

_INDEXED_WORDS = 4
_FURTHER_WORDS = "further_words"


def search_values(search: str | None) -> dict[str, Any]:
    """LIKE patterns by the names of their parameters.

    ``"ada lovelace"`` becomes ``{"word_0": "%ada%", "word_1": "%lovelace%"}``.
    """
    patterns = [f"%{_escaped(word)}%" for word in (search or "").split()]
    values: dict[str, Any] = {f"word_{n}": pattern for n, pattern in enumerate(patterns[:_INDEXED_WORDS])}
    # A caller chooses how many words there are: the number of shapes must not grow with it.
    return values | ({_FURTHER_WORDS: patterns[_INDEXED_WORDS:]} if len(patterns) > _INDEXED_WORDS else {})


def search_conditions(text: ColumnElement[str], names: Sequence[str]) -> Iterator[ColumnElement[bool]]:
    """Conditions that every word is found in ``text``; ``names`` are the keys of ``search_values``."""
    searched = without_case(text)
    for name in names:
        if name == _FURTHER_WORDS:
            word = func.unnest(parameter(name, sa.ARRAY(sa.Text()))).column_valued("word")
            yield searched.like(sa.all_(func.array(sa.select(without_case(word)).scalar_subquery())))
        else:
            yield searched.like(without_case(parameter(name, sa.Text())))


def without_case(text: ColumnElement[str]) -> ColumnElement[str]:
    """Text as it is compared without case, by the same expression as in the indexes."""
    # The columns' own collation, "C", folds ASCII letters alone. Grouping: Core would write `a || b COLLATE "default"`,
    # where the collation is that of b, which is another expression than the index has.
    return func.lower(Grouping(text).collate("default"))


def ordering(table: FromClause, sort_by: str, *, descending: bool) -> list[ColumnElement[Any]]:
    """The order of a list: nulls count as the largest; ties are broken by id, which ascends in either direction."""
    key = table.c[sort_by]
    return [key.desc() if descending else key.asc(), table.c.id]


def paged(statement: Select[Any]) -> Select[Any]:
    """The statement with limit and offset as parameters; their values come from ``page_values``."""
    return statement.limit(parameter("page_size", sa.Integer())).offset(parameter("skipped", sa.BigInteger()))


def page_values(listing: Listing) -> Mapping[str, Any]:
    return {"page_size": listing.page_size, "skipped": (listing.page - 1) * listing.page_size}


def total_told_by(listing: Listing, length: int) -> int | None:
    """The total where the page of ``length`` rows tells it; None when it has to be counted."""
    if 0 < length < listing.page_size or (listing.page == 1 and length == 0):
        return (listing.page - 1) * listing.page_size + length
    return None


def ensure_sortable(listing: Listing, columns: Sequence[str]) -> None:
    """Raises ValueError for a ``sort_by`` that the list has no column for."""
    if listing.sort_by not in columns:
        raise ValueError(f"The list cannot be sorted by {listing.sort_by!r}: it has the columns {', '.join(columns)}.")


def _escaped(word: str) -> str:
    """The word with LIKE's wildcards taken literally."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
