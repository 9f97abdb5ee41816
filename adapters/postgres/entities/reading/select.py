"""Reads rows of entities: one statement for a row, or for a page with its total and all included rows.

A statement is compiled and cached once per shape of query; client values are only parameters.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.poolers import UNSUPPORTED
from adapters.postgres.entities.reading.conditions import driver_value, pattern
from adapters.postgres.entities.reading.narrowing import NO_SEARCHES, Narrowing, Searches, SearchLimits, narrowing
from adapters.postgres.entities.reading.own_keys import with_own_keys
from adapters.postgres.entities.reading.rows import Shape
from adapters.postgres.entities.reading.select_rows import (
    bounded_count_statement,
    count_statement,
    get_statement,
    page_statement,
)
from adapters.postgres.entities.reading.tenant_sizes import TenantSizes
from adapters.postgres.statements.compiled import CompiledStatement
from adapters.postgres.statements.owning import OWN_USER, Reach
from adapters.postgres.statements.planning import IS_PLANNED
from adapters.postgres.statements.running import fetch_value
from application.ports.entities.records import RowPage, Stored
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import MOST_COUNTED, Beginning, Count, Operator, Query, View
from domain.entities.query.read_query import read_query
from domain.errors import BadRequest
from domain.scope import OneTenant, OwnRows, Scope

REMEMBERED = 512
"""Number of cached shapes per entity and kind of statement, most recently used."""

DEEP = 1_000
"""Offset from which a page's ids are found before its rows."""

# The server's OFFSET is a 64-bit integer.
_MOST_PASSED_OVER = 2**62
_SOME_TENANT = OneTenant(UUID(int=0))


class Statements:
    """Compiled statements of one entity, by shape of query."""

    def __init__(self, registry: Registry, model: EntityModel) -> None:
        self.get = lru_cache(REMEMBERED)(partial(get_statement, registry, model))
        self.page = lru_cache(REMEMBERED)(partial(page_statement, registry, model))
        self.count = lru_cache(REMEMBERED)(partial(count_statement, registry, model))
        self.bounded_count = lru_cache(REMEMBERED)(partial(bounded_count_statement, registry, model))
        self.sizes = TenantSizes(registry, model)


@lru_cache(maxsize=1024)
def statements_of(registry: Registry, model: EntityModel) -> Statements:
    return Statements(registry, model)


def compile_usual_reads(registry: Registry, model: EntityModel) -> None:
    """Build the statements of a row by its id and of the default page, so that requests do not wait."""
    statements = statements_of(registry, model)
    statements.get(get_shape(_SOME_TENANT, View()))
    statements.page(page_shape(_SOME_TENANT, read_query(model, registry, frozenset(), ())))


@dataclass(frozen=True, slots=True)
class PostgresSelect:
    connection: ServiceConnection
    registry: Registry
    scope: Scope
    searches: Searches = NO_SEARCHES

    async def get(self, model: EntityModel, row_id: UUID, view: View) -> Stored | None:
        self._ensure_on_one_node(view)
        statement = statements_of(self.registry, model).get(get_shape(self.scope, view))
        values = tenant_of(self.scope)
        values["id"], values[IS_PLANNED] = row_id, True
        rows = await statement.fetch(self.connection, values)
        return Stored(row_id, rows[0][-1], statement.encoder.row(rows[0])) if rows else None

    async def page(self, model: EntityModel, query: Query) -> RowPage:
        self._ensure_on_one_node(query.view)
        shape = page_shape(self.scope, query, self._narrowing(model, query))
        statements = self._statements(model)
        if await statements.sizes.suit_any_plan(self.connection, self.scope, shape):
            shape = replace(shape, is_planned=False)
        statement = statements.page(shape)
        values, encoder = await self._values(statement, query), statement.encoder
        rows = await statement.fetch(self.connection, values)
        size, has_next, total, is_estimate = query.page_size, len(rows) > query.page_size, None, False
        if rows:
            total = rows[-1][-1]
        page = rows[:size]
        if total is None:
            total, is_estimate = await self._total(model, query, len(page), has_next=has_next)
        return RowPage(
            items=encoder.rows(page),
            length=len(page),
            total=total,
            has_next=has_next,
            total_is_estimate=is_estimate,
            last=page[-1][encoder.size : -1] if has_next else None,
        )

    async def _total(self, model: EntityModel, query: Query, length: int, *, has_next: bool) -> tuple[int | None, bool]:
        """The total, and whether it is an estimate."""
        seen = query.offset + length
        if query.count is Count.NONE:
            return None, False
        if query.cursor is None and not has_next and (length or not query.offset):
            return seen, False
        shape, statements = count_shape(self.scope, query, self._narrowing(model, query)), self._statements(model)
        statement = statements.count(shape) if query.count is Count.EXACT else statements.bounded_count(shape)
        # Count one row more, to see whether a total equal to the limit is exact.
        values = await self._values(statement, query) | {"counted": MOST_COUNTED + 1}
        counted = await fetch_value(self.connection, statement, values)
        if query.count is Count.EXACT or counted <= MOST_COUNTED:
            return counted, False
        return max(MOST_COUNTED, seen + has_next), True

    def _ensure_on_one_node(self, view: View) -> None:
        # Citus 13.2.2 ends the coordinator's process for joins of included rows over several nodes.
        if self.connection.is_of_cluster and view.include and not isinstance(self.scope, OneTenant):
            raise BadRequest(UNSUPPORTED)

    async def _values(self, statement: CompiledStatement, query: Query) -> dict[str, Any]:
        values = values_of(self.scope, query, self.searches.limits)
        return await with_own_keys(self.connection, self.registry, statement, values)

    def _narrowing(self, model: EntityModel, query: Query) -> Narrowing | None:
        # The index functions serve a single tenant.
        return narrowing(model, query, self.searches) if isinstance(self.scope, OneTenant) else None

    def _statements(self, model: EntityModel) -> Statements:
        return statements_of(self.registry, model)


def values_of(scope: Scope, query: Query, limits: SearchLimits = NO_SEARCHES.limits) -> dict[str, Any]:
    """Return a query's values by parameter name; each statement uses only the values that it names."""
    # Plain assignments fill the dictionary fastest.
    values = tenant_of(scope)
    values["size"], values["offset"] = query.page_size, min(query.offset, _MOST_PASSED_OVER)
    for number, condition in enumerate(query.where):
        values[f"where_{number}"] = driver_value(condition.operator, condition.value)
    for number, word in enumerate(query.search):
        values[f"word_{number}"] = pattern(Operator.CONTAINS, word)
    for number, value in enumerate(query.cursor or ()):
        values[f"after_{number}"] = value.text if isinstance(value, Beginning) else value
    values[IS_PLANNED] = True
    values["sampled"], values["frequent"], values["most"] = limits.sampled, limits.frequent, limits.most
    return values


def tenant_of(scope: Scope) -> dict[str, Any]:
    """Return the arguments for the tenant, and for a caller with limits to own rows."""
    if not isinstance(scope, OneTenant):
        return {}
    values: dict[str, Any] = {"tenant": scope.id, "sees_all": scope.sees_all}
    if isinstance(scope, OwnRows):
        values[OWN_USER] = scope.user_id
    return values


def get_shape(scope: Scope, view: View) -> Shape:
    return Shape(reach=Reach.of(scope, is_single=True), view=view, where=(), words=0)


def page_shape(scope: Scope, query: Query, narrowed: Narrowing | None = None) -> Shape:
    return Shape(
        reach=Reach.of(scope),
        view=query.view,
        where=tuple((condition.path, condition.operator) for condition in query.where),
        words=len(query.search),
        sort=query.sort,
        after=None if query.cursor is None else tuple(value is not None for value in query.cursor),
        cut=tuple(number for number, value in enumerate(query.cursor or ()) if isinstance(value, Beginning)),
        is_deep=query.offset >= DEEP,
        counts=query.count is Count.EXACT,
        narrowing=narrowed,
    )


def count_shape(scope: Scope, query: Query, narrowed: Narrowing | None = None) -> Shape:
    """Return the shape of the query's total; queries that differ only in page, order or view share it."""
    # Include the hidden fields: a search excludes them, so they affect the total.
    view = View(include_deleted=query.view.include_deleted, hidden=query.view.hidden)
    where = tuple((condition.path, condition.operator) for condition in query.where)
    return Shape(reach=Reach.of(scope), view=view, where=where, words=len(query.search), narrowing=narrowed)
