"""Conditions for own rows: the reach of a scope, and the rows of a caller with limits.

``values[OWN_USER]`` is the caller's id in the values of a statement with limits.
"""

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import FromClause

from adapters.postgres.entities.tables import SHARES
from adapters.postgres.schema.sql import is_soft
from adapters.postgres.statements.compiled import constant, parameter
from adapters.postgres.statements.rows import Truth, Value, living, of_tenant, owner, rows_of
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import Mine, Through
from domain.entities.owning import NO_LIMITS, Limits, limits_in, sharing_levels
from domain.scope import OneTenant, OwnRows, Scope

OWN_USER = "own_user"
_USER = parameter(OWN_USER, sa.Uuid())

Source = Callable[[str], Value]
"""The value of a column by its name: of a stored row, or of the row after a write."""


class Reach(Struct, frozen=True, cache_hash=True):
    """The part of a scope that determines a statement's text: the ids of tenant and caller are arguments."""

    is_every: bool
    limits: Limits = NO_LIMITS

    @classmethod
    def of(cls, scope: Scope) -> "Reach":
        if isinstance(scope, OwnRows):
            return cls(is_every=False, limits=limits_in(scope))
        return WHOLE_TENANT if isinstance(scope, OneTenant) else EVERY_TENANT


WHOLE_TENANT, EVERY_TENANT = Reach(is_every=False), Reach(is_every=True)


def user_of(scope: Scope) -> dict[str, Any]:
    """Return the caller's id as an argument, for a scope with limits."""
    return {OWN_USER: scope.user_id} if isinstance(scope, OwnRows) else {}


def is_own(registry: Registry, model: EntityModel, source: Source, action: str) -> Truth:
    """Return the condition that an ownership rule, or a share that allows the action, holds for the caller."""
    holds = (_holds(registry, model, rule, source) for rule in model.declaration.own)
    levels = sharing_levels(model, action)
    return sa.or_(sa.false(), *holds, *([_is_shared(model, source("id"), levels)] if levels else []))


def _is_shared(model: EntityModel, row_id: Value, levels: Sequence[str]) -> Truth:
    shares = SHARES.alias("own share")
    named = [of_tenant(shares), shares.c.user_id == _USER, shares.c.entity == constant(model.plural)]
    of_level = shares.c.level.in_([constant(level) for level in levels])
    found = sa.select().select_from(shares).where(*named, shares.c.row_id == row_id, of_level)
    return found.correlate_except(shares).exists()


def _holds(registry: Registry, model: EntityModel, rule: Mine | Through, source: Source) -> Truth:
    if isinstance(rule, Mine):
        return source(rule.field) == _USER
    first = model.relations[rule.to_one]
    target = registry.target(first)
    second = target.relations[rule.to_many]
    holding = registry.target(second)
    near, far = rows_of(registry, target, "own near"), rows_of(registry, holding, "own far")
    linked = [near.c.id == source(first.by), far.c[second.by] == near.c.id, far.c[rule.field] == _USER]
    found = sa.select().select_from(near.join(far, sa.true()))
    found = found.where(*owner(target, near), *living(target, near), *owner(holding, far), *living(holding, far))
    # Correlate explicitly: within a subquery, Core might choose another row.
    return found.where(*linked).correlate_except(near, far).exists()


def visible(registry: Registry, model: EntityModel, rows: FromClause, limits: Limits) -> list[Truth]:
    """Return the condition that the caller sees a row; none for a caller without limits."""
    return [is_own(registry, model, column_of(rows), "read")] if limits.hide(model) else []


def touchable(registry: Registry, model: EntityModel, rows: FromClause, limits: Limits, action: str) -> list[Truth]:
    """Return the condition that the caller may ``update`` or ``delete`` a visible row."""
    return [is_own(registry, model, column_of(rows), action)] if limits.bind(model, action) else []


def not_own(registry: Registry, model: EntityModel, source: Source, action: str) -> Truth:
    """Return the condition that ``is_own`` does not hold; comparisons with null do not hold."""
    return sa.not_(sa.func.coalesce(is_own(registry, model, source, action), sa.false()))


def reachable(registry: Registry, model: EntityModel, rows: FromClause, limits: Limits, action: str) -> list[Truth]:
    """Return the conditions for live rows to which the caller may do this: ``update`` or ``delete``."""
    living_rows = [*owner(model, rows), *living(model, rows)]
    return [
        *living_rows,
        *visible(registry, model, rows, limits),
        *touchable(registry, model, rows, limits, action),
    ]


def visible_deleted(registry: Registry, model: EntityModel, rows: FromClause, limits: Limits) -> list[Truth]:
    """Return the condition for live and deleted rows; a caller with limits on deletions sees only own deleted rows."""
    if not (is_soft(model) and limits.bind(model, "delete")):
        return []
    return [sa.or_(sa.not_(rows.c.is_deleted), is_own(registry, model, column_of(rows), "delete"))]


def column_of(rows: FromClause) -> Source:
    return lambda name: rows.c[name]
