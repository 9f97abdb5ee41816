"""Which tenants have few rows of an entity: any plan reads those quickly; decision 0019."""

from collections.abc import Callable
from time import monotonic
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import func

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.rows import Shape
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant
from adapters.postgres.statements.planning import IS_PLANNED, planned_for_values
from adapters.postgres.statements.rows import owner, rows_of
from adapters.postgres.statements.running import fetch_value
from domain.entities.declaration import EntityModel, Registry
from domain.scope import OneTenant, OwnRows, Scope

FEW = 10_000
"""Maximum rows, deleted ones included. Reading all of them takes about 10 ms."""
KNOWN_FOR = 600.0
"""Seconds until the rows of a tenant are counted again."""
MOST_KNOWN = 20_000
"""Maximum tenants that are remembered."""


class TenantSizes:
    """Sizes of the tenants of an entity, counted when a tenant's rows are first listed."""

    def __init__(self, registry: Registry, model: EntityModel, seconds: Callable[[], float] = monotonic) -> None:
        self._registry = registry
        self._model = model
        self._seconds = seconds
        self._statement = _statement(registry, model) if model.tenant_owned else None
        self._known: dict[UUID, tuple[float, bool]] = {}

    async def suit_any_plan(self, connection: ServiceConnection, scope: Scope, shape: Shape) -> bool:
        """Return whether a page reads few rows by any plan: rows of a small tenant, and each related row by its id."""
        # A caller with limits to own rows passes lists of ids, for whose length PostgreSQL plans.
        if not isinstance(scope, OneTenant) or isinstance(scope, OwnRows) or connection.is_of_cluster:
            return False
        if self._statement is None or not self._reads_one_list(shape):
            return False
        return await self._has_few(connection, self._statement, scope.id)

    def _reads_one_list(self, shape: Shape) -> bool:
        if shape.narrowing is not None or any(path.steps for path, _ in shape.where):
            return False
        if any(key.path.steps for key in shape.sort):
            return False
        return not any(self._ends_in_list(path) for path in shape.view.include)

    def _ends_in_list(self, path: tuple[str, ...]) -> bool:
        model = self._model
        for step in path[:-1]:
            model = self._registry.target(model.relations[step])
        return model.relations[path[-1]].is_many

    async def _has_few(self, connection: ServiceConnection, statement: CompiledStatement, tenant: UUID) -> bool:
        now = self._seconds()
        due, few = self._known.get(tenant, (now, False))
        if now >= due:
            counted = await fetch_value(connection, statement, {"tenant": tenant, IS_PLANNED: True})
            few = counted <= FEW
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[tenant] = now + KNOWN_FOR, few
        return few


def _statement(registry: Registry, model: EntityModel) -> CompiledStatement:
    rows = rows_of(registry, model, "t")
    some = sa.select(constant(1)).select_from(rows).where(*owner(model, rows)).limit(constant(FEW + 1)).subquery("some")
    return compiled(planned_for_values(sa.select(func.count()).select_from(some)))
