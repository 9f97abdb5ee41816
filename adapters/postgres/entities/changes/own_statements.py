"""Statements that decide for the entries of a batch whether their rows are a reader's own.

Arguments: ``tenant``, ``ids``, and the caller's id. Each selects the ids that hold.
"""

from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy import func

from adapters.postgres.statements.compiled import CompiledStatement, compiled
from adapters.postgres.statements.owning import holds_through, shared_with_caller, visible
from adapters.postgres.statements.rows import table_of
from adapters.postgres.statements.writing import IDS, REMEMBERED, is_among, owned_and_living
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import Through
from domain.entities.owning import Limits


@lru_cache(REMEMBERED)
def find_own_through(registry: Registry, model: EntityModel, rule: Through) -> CompiledStatement:
    keys = _given()
    return compiled(sa.select(keys.c.id).where(holds_through(registry, model, rule, keys.c.id)))


@lru_cache(REMEMBERED)
def find_shared(model: EntityModel) -> CompiledStatement:
    keys = _given()
    return compiled(sa.select(keys.c.id).where(shared_with_caller(model, keys.c.id)))


@lru_cache(REMEMBERED)
def find_own(registry: Registry, model: EntityModel, limits: Limits) -> CompiledStatement:
    table = table_of(registry, model)
    seen = visible(registry, model, table, limits)
    return compiled(sa.select(table.c.id).where(*owned_and_living(model, table), is_among(table.c.id), *seen))


def _given() -> sa.TableValuedAlias:
    return func.unnest(IDS).table_valued(sa.column("id", sa.Uuid())).render_derived(name="g")
