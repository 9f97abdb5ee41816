"""Searches by index: if a word is rare, look up the ids of rows that can match; decision 0016.

A statement first reads a sample: the first rows in the entity's default order. If the sample often contains each word,
the statement reads rows in page order until the page is full. Otherwise it looks the rarest word up in the index,
through functions that return a bounded number of ids, or null; after null it tries the next rare word. A total needs
every matching row, so it uses the index for frequent words too. The query's conditions always apply: the ids only
narrow the search.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import groupby

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import FromClause, func
from sqlalchemy.dialects.postgresql import ARRAY, array

from adapters.postgres.entities.reading.conditions import has_word
from adapters.postgres.schema.copies import ordered_name
from adapters.postgres.schema.search import SEARCH, search_function_name
from adapters.postgres.statements.compiled import constant, parameter
from adapters.postgres.statements.rows import TENANT, Truth, Value, living, owner, without_case
from domain.entities.declaration import EntityModel
from domain.entities.query.query import Count, Operator, Query, SortKey, default_sort, searched

_IDS = ARRAY(sa.Uuid())
_MOST_TRIED = 3
"""Maximum number of texts to look up: a frequent text needs as long as it has rows in the index."""
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


class Lookup(Struct, frozen=True):
    """Indexed fields, at least one of which must contain the pattern in the parameter ``parameter``."""

    fields: tuple[str, ...]
    parameter: str


class Narrowing(Struct, frozen=True):
    """Possible lookups, the longest text first; a statement uses that of the rarest text in its sample.

    ``counts``: the statement counts rows, and without the index it would read all of them.
    """

    lookups: tuple[Lookup, ...]
    counts: bool

    @property
    def compares(self) -> bool:
        """Whether the sample counts matches. One lookup of a statement that counts is always done."""
        return not self.counts or len(self.lookups) > 1


NO_SEARCHES = Searches()
"""Search configuration without indexed fields."""


def narrowing(model: EntityModel, query: Query, searches: Searches) -> Narrowing | None:
    """Return the search words and filters that an index serves; None without one."""
    if not searches.indexed or not (query.search or query.where) or not model.tenant_owned:
        return None
    indexed = searches.indexed
    found: list[tuple[int, Lookup]] = []
    fields = tuple(searched(model, query.view.hidden)) if query.search else ()
    if fields and all((model.table, field) in indexed for field in fields):
        found += [(_letters(word), Lookup(fields, f"word_{number}")) for number, word in enumerate(query.search)]
    for number, asked in enumerate(query.where):
        is_indexed = not asked.path.steps and (model.table, asked.path.field) in indexed
        if is_indexed and asked.operator in _HELD_BY_EVERY_ROW:
            found.append((_letters(str(asked.value)), Lookup((asked.path.field,), f"where_{number}")))
    long = sorted((each for each in found if each[0] >= LEAST_LETTERS), key=lambda each: each[0], reverse=True)
    return Narrowing(tuple(lookup for _, lookup in long), query.count is Count.EXACT) if long else None


def _letters(text: str) -> int:
    return max((sum(1 for _ in run) for is_letter, run in groupby(text, str.isalnum) if is_letter), default=0)


def ids_of(model: EntityModel, table: FromClause, narrowing: Narrowing) -> Value:
    """Return the matching ids as an array expression; null if the statement reads the rows in order instead."""
    chosen = _by_rarity(_sample(model, table, narrowing), narrowing)
    texts = enumerate(narrowing.lookups, 1)
    ids = sa.case(*((chosen.c.n == constant(number), _looked_up(model, each)) for number, each in texts))
    # Materialize, so that PostgreSQL calls each function at most once. It reads this only as far as the first ids, so
    # it does not call the functions for the other texts.
    found = sa.select(ids.label("ids")).select_from(chosen).cte("found by index").prefix_with("MATERIALIZED")
    first = sa.select(found.c.ids).where(found.c.ids.is_not(None)).limit(constant(1))
    # Cast, because ANY reads a bare subquery as a set of rows.
    return sa.cast(first.scalar_subquery(), _IDS)


def _by_rarity(head: sa.CTE, narrowing: Narrowing) -> FromClause:
    """Return the numbers of the lookups that are worth trying, the rarest text in the sample first."""
    is_asked = head.c.seen >= _limit("sampled")
    if not narrowing.compares:
        return sa.select(constant(1).label("n")).select_from(head).where(is_asked).subquery("chosen")
    hits = [head.c[f"hits_{number}"] for number in range(len(narrowing.lookups))]
    each = (
        func.unnest(array(hits)).table_valued(sa.column("hits", sa.BigInteger()), with_ordinality="n").render_derived()
    )
    most = _limit("frequent") - constant(1)
    is_rare = each.c.hits <= (func.greatest(most, func.least(*hits)) if narrowing.counts else most)
    tried = sa.select(each.c.n).select_from(head).join(each, sa.true()).where(is_asked, is_rare)
    # The limit also makes PostgreSQL sort before it calls functions.
    return tried.order_by(each.c.hits, each.c.n).limit(constant(_MOST_TRIED)).subquery("chosen")


def _looked_up(model: EntityModel, lookup: Lookup) -> Value:
    """Return the ids that the functions of all fields find; null if one finds too many."""
    pattern = without_case(parameter(lookup.parameter, sa.Text()))
    calls = [_found(model, field, pattern).label(f"ids {number}") for number, field in enumerate(lookup.fields)]
    # OFFSET prevents PostgreSQL from inlining the calls, which would call each function twice.
    arrays: list[Value] = list((found := sa.select(*calls).offset(constant(0)).subquery("looked up")).c)
    every = reduce(lambda ids, more: func.array_cat(ids, more, type_=_IDS), arrays)
    # A null array means too many ids, but array_cat treats null as an empty array.
    return sa.select(sa.case((func.num_nulls(*arrays) == constant(0), every))).select_from(found).scalar_subquery()


def among(rows: FromClause, ids: Value) -> Truth:
    """Return the condition that a row's id is among the ids.

    It compares the whole primary key, so that the planner looks rows up by it.
    """
    return sa.tuple_(rows.c.tenant_id, rows.c.id).in_(sa.select(TENANT, func.unnest(ids)))


def _sample(model: EntityModel, table: FromClause, narrowing: Narrowing) -> sa.CTE:
    """Return a subquery that counts the sampled rows and, if needed, those that match each lookup."""
    rows = table.alias("s")
    fields = dict.fromkeys(field for lookup in narrowing.lookups for field in lookup.fields)
    chosen = sa.select(*(rows.c[field] for field in fields)).where(*owner(model, rows), *living(model, rows))
    for key in _order(model):
        column = rows.c[ordered_name(model, model.by_name[key.path.field])]
        chosen = chosen.order_by(column.desc() if key.descending else column)
    sampled = chosen.limit(_limit("sampled")).subquery("sampled")
    columns = [func.count().label("seen")]
    for number, lookup in enumerate(narrowing.lookups if narrowing.compares else ()):
        matches = has_word(sampled, lookup.fields, lookup.parameter)
        columns.append(func.count().filter(matches).label(f"hits_{number}"))
    return sa.select(*columns).select_from(sampled).cte("head").prefix_with("MATERIALIZED")


def _order(model: EntityModel) -> Sequence[SortKey]:
    return default_sort(model, frozenset())


def _found(model: EntityModel, field: str, pattern: Value) -> Value:
    name = search_function_name(model.table, field)
    return sa.Function(name, pattern, _limit("most"), packagenames=(SEARCH,), type_=_IDS)


def _limit(name: str) -> Value:
    return parameter(name, sa.Integer())
