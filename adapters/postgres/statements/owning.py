"""Conditions for own rows: the reach of a scope, and the rows of a caller with limits.

``values[OWN_USER]`` is the caller's id in the values of a statement with limits.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import FromClause, Select
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.entities.tables import SHARES
from adapters.postgres.schema.sql import is_soft
from adapters.postgres.statements.compiled import constant, parameter
from adapters.postgres.statements.rows import Truth, Value, living, of_tenant, owner, rows_of
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import Mine, Through
from domain.entities.owning import NO_LIMITS, Limits, limits_in, sharing_levels
from domain.scope import OneTenant, OwnRows, Scope

OWN_USER = "own_user"
OWN_KEYS = "own keys"
"""Prefix of the parameters with keys of own rows."""
_USER = parameter(OWN_USER, sa.Uuid())

Source = Callable[[str], Value]
"""The value of a column by its name: of a stored row, or of the row after a write."""


class Reach(Struct, frozen=True, cache_hash=True):
    """The part of a scope that determines a statement's text: the ids of tenant and caller are arguments.

    ``is_single``: the statement reads one row, and looks for memberships, shares and targets of links of this row only.
    """

    is_every: bool
    limits: Limits = NO_LIMITS
    is_single: bool = False

    @classmethod
    def of(cls, scope: Scope, *, is_single: bool = False) -> "Reach":
        return cls(not isinstance(scope, OneTenant), limits_in(scope), is_single)


def user_of(scope: Scope) -> dict[str, Any]:
    """Return the caller's id as an argument, for a scope with limits."""
    return {OWN_USER: scope.user_id} if isinstance(scope, OwnRows) else {}


def is_own(registry: Registry, model: EntityModel, source: Source, action: str, *, by_keys: bool = False) -> Truth:
    """Return the condition that an ownership rule, or a share that allows the action, holds for the caller.

    The statement looks for a membership and a share of each row. ``by_keys``: `with_own_keys` reads the keys of all
    memberships and shares before, so that PostgreSQL knows how many rows are own when it plans.
    """
    holds: list[Truth] = []
    for number, rule in enumerate(model.declaration.own):
        if isinstance(rule, Mine):
            holds.append(source(rule.field) == _USER)
        else:
            reference, keys = model.relations[rule.to_one].by, _memberships(registry, model, rule)
            holds.append(_is_among(source(reference), keys, key_name(model, str(number)) if by_keys else None))
    if sharing_levels(model, action):
        holds.append(_is_among(source("id"), _shares(model, action), key_name(model, action) if by_keys else None))
    return sa.or_(sa.false(), *holds)


def key_name(model: EntityModel, which: str) -> str:
    """Return the parameter for the keys of a rule, by its number, or of the shares that allow an action."""
    return f"{OWN_KEYS} {model.plural} {which}"


def keys_of(registry: Registry, name: str) -> Select[tuple[UUID]]:
    """Select the keys of the parameter ``name``."""
    plural, which = name.removeprefix(OWN_KEYS).split()
    model = registry[plural]
    if not which.isdecimal():
        return _shares(model, which)
    rule = model.declaration.own[int(which)]
    assert isinstance(rule, Through), name
    return _memberships(registry, model, rule)


def _shares(model: EntityModel, action: str) -> Select[tuple[UUID]]:
    """Select the ids of the rows with a share for the caller."""
    shares, levels = SHARES.alias("own share"), sharing_levels(model, action)
    named = [of_tenant(shares), shares.c.user_id == _USER, shares.c.entity == constant(model.plural)]
    return sa.select(shares.c.row_id).where(*named, shares.c.level.in_([constant(level) for level in levels]))


def _memberships(registry: Registry, model: EntityModel, rule: Through) -> Select[tuple[UUID]]:
    """Select the ids of the live rows in the middle of both relations, of which the caller is a live member."""
    middle = registry.target(model.relations[rule.to_one])
    relation = middle.relations[rule.to_many]
    holding = registry.target(relation)
    near, far = rows_of(registry, middle, "own near"), rows_of(registry, holding, "own far")
    key = far.c[relation.by]
    lives = sa.select().select_from(near).where(*owner(middle, near), *living(middle, near), near.c.id == key)
    # OFFSET makes PostgreSQL look each row up: planning a join takes longer.
    is_living = lives.offset(constant(0)).correlate(far).exists()
    return sa.select(key).where(*owner(holding, far), *living(holding, far), far.c[rule.field] == _USER, is_living)


def _is_among(value: Value, keys: Select[tuple[UUID]], name: str | None) -> Truth:
    (key,) = keys.selected_columns
    # Correlate explicitly: within a subquery, Core might choose another row.
    is_found = keys.where(key == value).correlate_except(key.table).exists()
    if name is None:
        return is_found
    # PostgreSQL removes one half when it plans.
    given = parameter(name, ARRAY(sa.Uuid()))
    return sa.or_(value == sa.any_(given), sa.and_(given.is_(None), is_found))


def holds_through(registry: Registry, model: EntityModel, rule: Through, key: Value) -> Truth:
    """Return the condition that the rule holds for a row that refers to ``key``."""
    return _is_among(key, _memberships(registry, model, rule), None)


def shared_with_caller(model: EntityModel, row_id: Value) -> Truth:
    return _is_among(row_id, _shares(model, "read"), None)


def visible(
    registry: Registry, model: EntityModel, rows: FromClause, limits: Limits, *, by_keys: bool = False
) -> list[Truth]:
    """Return the condition that the caller sees a row; none for a caller without limits."""
    return [is_own(registry, model, column_of(rows), "read", by_keys=by_keys)] if limits.hide(model) else []


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


def visible_deleted(
    registry: Registry, model: EntityModel, rows: FromClause, limits: Limits, *, by_keys: bool = False
) -> list[Truth]:
    """Return the condition for live and deleted rows; a caller with limits on deletions sees only own deleted rows."""
    if not (is_soft(model) and limits.bind(model, "delete")):
        return []
    return [sa.or_(sa.not_(rows.c.is_deleted), is_own(registry, model, column_of(rows), "delete", by_keys=by_keys))]


def column_of(rows: FromClause) -> Source:
    return lambda name: rows.c[name]
