"""Searches by an index: the ids of the rows that can match, where a word is rare; decision 0016.

A statement reads a sample first, of the rows at the head of the entity's own order. A word that is frequent among them
is read in the order of the page, which ends when the page is full; any other one is looked up in the index, whose
functions return its ids up to a bound. A total needs every row of a word, so that the index is asked for frequent ones
too. The conditions of the query hold in all cases: the ids only say where to look.
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
# Not PARTS: the index finds rows that hold a text, and would leave out every row of an operator that excludes one.
_HELD_BY_EVERY_ROW = frozenset({Operator.CONTAINS, Operator.STARTS_WITH, Operator.ENDS_WITH})

LEAST_LETTERS = 3
"""Letters and digits in a row that a text needs: the index holds groups of three."""


class SearchLimits(Struct, frozen=True):
    """Limits within which a search asks an index.

    ``sampled`` newest rows are read; from ``frequent`` hits among them on, or above ``most`` ids, no index is asked.
    One hit in a hundred fills a page of 20 within 2,000 rows in their order, which take as long as the ids of 1,000.
    """

    sampled: int = 400
    frequent: int = 4
    most: int = 2_000


USUAL_LIMITS = SearchLimits()


class Searches(Struct, frozen=True):
    """Searches that indexes answer: tables with the fields of theirs that an index finds, and the limits."""

    indexed: frozenset[tuple[str, str]] = frozenset()
    limits: SearchLimits = USUAL_LIMITS


class Narrowing(Struct, frozen=True):
    """Fields of which one holds the pattern that is the parameter of this name; an index has each of them.

    ``counts``: without the index all rows would be read, to count them.
    """

    fields: tuple[str, ...]
    parameter: str
    counts: bool


NO_SEARCHES = Searches()
"""No field has an index."""


def narrowing(model: EntityModel, query: Query, searches: Searches) -> Narrowing | None:
    """The condition with the longest text that an index finds, of a query's words and of its parts of fields."""
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
    """The ids, one array; null where the rows are to be read in their order."""
    head = _sample(model, table, narrowing)
    is_asked = head.c.seen >= _limit("sampled")
    if not narrowing.counts:
        is_asked = sa.and_(is_asked, head.c.hits < _limit("frequent"))
    pattern = without_case(parameter(narrowing.parameter, sa.Text()))
    calls = [_found(model, field, pattern).label(f"ids {number}") for number, field in enumerate(narrowing.fields)]
    # materialized: each function is called once, and not at all where the sample has no row for it
    found = sa.select(*calls).select_from(head).where(is_asked).cte("found by index").prefix_with("MATERIALIZED")
    arrays: list[Value] = list(found.c)
    every = reduce(lambda ids, more: func.array_cat(ids, more, type_=_IDS), arrays)
    # array_cat takes null for an empty array, and null means here that there were too many
    is_whole = func.num_nulls(*arrays) == constant(0)
    # a cast, for ANY takes a bare subquery for one with an id in each row
    return sa.cast(sa.select(sa.case((is_whole, every))).scalar_subquery(), _IDS)


def among(rows: FromClause, ids: Value) -> Truth:
    """The condition that a row's id is among the ids.

    It compares the whole key, so that rows are looked up by it, whatever else may seem cheap to the planner.
    """
    return sa.tuple_(rows.c.tenant_id, rows.c.id).in_(sa.select(TENANT, func.unnest(ids)))


def _sample(model: EntityModel, table: FromClause, narrowing: Narrowing) -> sa.CTE:
    """How many rows stand at the head of the entity's own order, which an index has.

    Without a total the sample also says how many of them match.
    """
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
