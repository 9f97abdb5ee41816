"""Searches by index: if a word is rare, look up the ids of rows that can match; decision 0016.

A statement first reads a sample: the first rows in the entity's default order. If the sample often contains the word,
the statement reads rows in page order until the page is full. Otherwise it looks the word up in the index, through
functions that return a bounded number of ids. A total needs every row with the word, so it uses the index for frequent
words too. The query's conditions always apply: the ids only narrow the search.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import groupby

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import FromClause, func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.entities.reading.conditions import has_word
from adapters.postgres.schema.copies import ordered_name
from adapters.postgres.schema.search import SEARCH, search_function_name
from adapters.postgres.statements.compiled import constant, parameter
from adapters.postgres.statements.rows import TENANT, Truth, Value, living, owner, without_case
from domain.entities.declaration import EntityModel
from domain.entities.query.query import Count, Operator, Query, SortKey, default_sort, searched

_IDS = ARRAY(sa.Uuid())
# Not PARTS: the index finds rows that contain a text, and one of these operators may exclude such rows.
_HELD_BY_EVERY_ROW = frozenset({Operator.CONTAINS, Operator.STARTS_WITH, Operator.ENDS_WITH})

LEAST_LETTERS = 3
"""Minimum number of consecutive letters and digits in a text: the index holds groups of three."""


class SearchLimits(Struct, frozen=True):
    """Limits of index searches.

    A statement samples the ``sampled`` newest rows. It does not use the index if the sample has ``frequent`` or more
    matches, or if the index finds more than ``most`` ids. With one match in a hundred rows, 2,000 ordered rows fill a
    page of 20, at the cost of 1,000 ids.
    """

    sampled: int = 400
    frequent: int = 4
    most: int = 2_000


USUAL_LIMITS = SearchLimits()


class Searches(Struct, frozen=True):
    """Index searches: tables with their indexed fields, and the limits."""

    indexed: frozenset[tuple[str, str]] = frozenset()
    limits: SearchLimits = USUAL_LIMITS


class Narrowing(Struct, frozen=True):
    """Indexed fields, at least one of which must contain the pattern in the parameter ``parameter``.

    ``counts``: the statement counts rows, and without the index it would read all of them.
    """

    fields: tuple[str, ...]
    parameter: str
    counts: bool


NO_SEARCHES = Searches()
"""Search configuration without indexed fields."""


def narrowing(model: EntityModel, query: Query, searches: Searches) -> Narrowing | None:
    """Return the search word or filter with the longest text that an index serves; None without one."""
    if not searches.indexed or not (query.search or query.where) or not model.tenant_owned:
        return None
    indexed = searches.indexed
    best: tuple[tuple[str, ...], str] | None = None
    letters = LEAST_LETTERS - 1
    for number, asked in enumerate(query.where):
        is_indexed = not asked.path.steps and (model.table, asked.path.field) in indexed
        if is_indexed and asked.operator in _HELD_BY_EVERY_ROW and (found := _letters(str(asked.value))) > letters:
            best, letters = ((asked.path.field,), f"where_{number}"), found
    fields = tuple(searched(model, query.view.hidden)) if query.search else ()
    if fields and all((model.table, field) in indexed for field in fields):
        for number, word in enumerate(query.search):
            if (found := _letters(word)) > letters:
                best, letters = (fields, f"word_{number}"), found
    return None if best is None else Narrowing(*best, query.count is Count.EXACT)


def _letters(text: str) -> int:
    return max((sum(1 for _ in run) for is_letter, run in groupby(text, str.isalnum) if is_letter), default=0)


def ids_of(model: EntityModel, table: FromClause, narrowing: Narrowing) -> Value:
    """Return the matching ids as an array expression; null if the statement reads the rows in order instead."""
    head = _sample(model, table, narrowing)
    is_asked = head.c.seen >= _limit("sampled")
    if not narrowing.counts:
        is_asked = sa.and_(is_asked, head.c.hits < _limit("frequent"))
    pattern = without_case(parameter(narrowing.parameter, sa.Text()))
    calls = [_found(model, field, pattern).label(f"ids {number}") for number, field in enumerate(narrowing.fields)]
    # Materialize, so that PostgreSQL calls each function at most once, and not at all if the sample decides against the
    # index.
    found = sa.select(*calls).select_from(head).where(is_asked).cte("found by index").prefix_with("MATERIALIZED")
    arrays: list[Value] = list(found.c)
    every = reduce(lambda ids, more: func.array_cat(ids, more, type_=_IDS), arrays)
    # A null array means too many ids, but array_cat treats null as an empty array.
    is_whole = func.num_nulls(*arrays) == constant(0)
    # Cast, because ANY reads a bare subquery as a set of rows.
    return sa.cast(sa.select(sa.case((is_whole, every))).scalar_subquery(), _IDS)


def among(rows: FromClause, ids: Value) -> Truth:
    """Return the condition that a row's id is among the ids.

    It compares the whole primary key, so that the planner looks rows up by it.
    """
    return sa.tuple_(rows.c.tenant_id, rows.c.id).in_(sa.select(TENANT, func.unnest(ids)))


def _sample(model: EntityModel, table: FromClause, narrowing: Narrowing) -> sa.CTE:
    """Return a subquery that counts the sampled rows and, without a total, also the matching ones."""
    rows = table.alias("s")
    chosen = sa.select(*(rows.c[field] for field in narrowing.fields)).where(*owner(model, rows), *living(model, rows))
    for key in _order(model):
        column = rows.c[ordered_name(model, model.by_name[key.path.field])]
        chosen = chosen.order_by(column.desc() if key.descending else column)
    sampled = chosen.limit(_limit("sampled")).subquery("sampled")
    columns = [func.count().label("seen")]
    if not narrowing.counts:
        columns.append(func.count().filter(has_word(sampled, narrowing.fields, narrowing.parameter)).label("hits"))
    return sa.select(*columns).select_from(sampled).cte("head").prefix_with("MATERIALIZED")


def _order(model: EntityModel) -> Sequence[SortKey]:
    return default_sort(model, frozenset())


def _found(model: EntityModel, field: str, pattern: Value) -> Value:
    name = search_function_name(model.table, field)
    return sa.Function(name, pattern, _limit("most"), packagenames=(SEARCH,), type_=_IDS)


def _limit(name: str) -> Value:
    return parameter(name, sa.Integer())
