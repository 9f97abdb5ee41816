"""Reading rows of entities: one statement for a row or a page, with all that is included and its total.

Its text is made once for each shape of query and remembered; what callers send only ever travels as parameters.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.conditions import parameter, pattern
from adapters.postgres.entities.reading.row_encoder import Statement
from adapters.postgres.entities.reading.rows import Reach
from adapters.postgres.entities.reading.select_text import Shape, count_text, get_statement, page_statement
from application.ports.entities.records import RowPage, Stored
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import Count, Operator, Query, View
from domain.scope import OneTenant, Scope

REMEMBERED = 512
"""How many texts an entity keeps of each kind of statement, the ones used last."""

DEEP = 1_000
_MOST_PASSED_OVER = 2**62


class Texts:
    """The statements of one entity."""

    def __init__(self, registry: Registry, model: EntityModel) -> None:
        self.get: Callable[[Shape], Statement] = lru_cache(REMEMBERED)(partial(get_statement, registry, model))
        self.page: Callable[[Shape], Statement] = lru_cache(REMEMBERED)(partial(page_statement, registry, model))
        self.count = lru_cache(REMEMBERED)(partial(count_text, registry, model))


@lru_cache(maxsize=1024)
def texts_of(registry: Registry, model: EntityModel) -> Texts:
    return Texts(registry, model)


@dataclass(frozen=True, slots=True)
class PostgresSelect:
    connection: ServiceConnection
    registry: Registry
    scope: Scope

    async def get(self, model: EntityModel, row_id: UUID, view: View) -> Stored | None:
        read = texts_of(self.registry, model).get(Shape(reach=Reach.of(self.scope), view=view, where=(), words=0))
        row = await self.connection.fetchrow(read.text, *self._tenant(model), row_id)
        return None if row is None else Stored(row_id, row[-1], read.shown.one(row))

    async def page(self, model: EntityModel, query: Query) -> RowPage:
        read = texts_of(self.registry, model).page(page_shape(self.scope, query))
        rows = await self.connection.fetch(read.text, *self._values(model, query), *window_of(query))
        size, has_next, total, is_estimate = query.page_size, len(rows) > query.page_size, None, False
        if rows:
            total = rows[-1][-1]
        page = rows[:size]
        if total is None:
            total, is_estimate = await self._total(model, query, len(page), has_next=has_next)
        return RowPage(
            items=read.shown.many(page),
            length=len(page),
            total=total,
            has_next=has_next,
            total_is_estimate=is_estimate,
            last=page[-1][read.shown.size : -1] if has_next else None,
        )

    async def _total(self, model: EntityModel, query: Query, length: int, *, has_next: bool) -> tuple[int | None, bool]:
        """Where the page's rows did not bring it: the page tells it, there are none, or nobody asked for it exactly."""
        seen = query.offset + length
        if query.count is Count.NONE:
            return None, False
        if query.cursor is None and not has_next and (length or not query.offset):
            return seen, False
        if query.count is Count.EXACT:
            text = texts_of(self.registry, model).count(_count_shape(self.scope, query))
            return await self.connection.fetchval(text, *self._values(model, query)), False
        return max(await self._estimate(model, query), seen + has_next), True

    async def _estimate(self, model: EntityModel, query: Query) -> int:
        """What the planner expects, without reading a row."""
        text = texts_of(self.registry, model).count(_count_shape(self.scope, query), "")
        plan = await self.connection.fetchval(f"EXPLAIN (FORMAT JSON) {text}", *self._values(model, query))
        return int(msgspec.json.decode(plan)[0]["Plan"]["Plan Rows"])

    def _values(self, model: EntityModel, query: Query) -> list[Any]:
        return values_of(self.scope, model, query)

    def _tenant(self, model: EntityModel) -> list[UUID]:
        return _tenant_of(self.scope, model)


def values_of(scope: Scope, model: EntityModel, query: Query) -> list[Any]:
    """The parameters up to where a page begins."""
    conditions = [parameter(one.operator, one.value) for one in query.where]
    words = [pattern(Operator.CONTAINS, word) for word in query.search]
    return [*_tenant_of(scope, model), *conditions, *words]


def _tenant_of(scope: Scope, model: EntityModel) -> list[UUID]:
    return [scope.id] if isinstance(scope, OneTenant) and model.tenant_owned else []


def page_shape(scope: Scope, query: Query) -> Shape:
    return Shape(
        reach=Reach.of(scope),
        view=query.view,
        where=tuple((one.path, one.operator) for one in query.where),
        words=len(query.search),
        sort=query.sort,
        after=None if query.cursor is None else tuple(value is not None for value in query.cursor),
        is_deep=query.offset >= DEEP,
        counts=query.count is Count.EXACT,
    )


def _count_shape(scope: Scope, query: Query) -> Shape:
    """One shape for all pages and orders of a query; what is shown does not change how many there are."""
    view = View(include_deleted=query.view.include_deleted, hidden=query.view.hidden)
    where = tuple((one.path, one.operator) for one in query.where)
    return Shape(reach=Reach.of(scope), view=view, where=where, words=len(query.search))


def window_of(query: Query) -> list[Any]:
    """The parameters after the conditions': where the page begins, and how long it is."""
    if query.cursor is not None:
        return [*(value for value in query.cursor if value is not None), query.page_size]
    return [query.page_size, min(query.offset, _MOST_PASSED_OVER)]
