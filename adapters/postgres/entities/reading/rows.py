"""Rows readable by a statement: the only place that selects the tenant and excludes deleted rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import FromClause, Select
from sqlalchemy.sql.selectable import NamedFromClause

from adapters.postgres.entities.reading.narrowing import Narrowing
from adapters.postgres.schema.copies import ordered_name
from adapters.postgres.statements.links import junction_of
from adapters.postgres.statements.owning import Reach, visible, visible_deleted
from adapters.postgres.statements.rows import TENANT, Truth, Value, living, owner, rows_of, shared
from domain.entities.declaration import EntityModel, Registry, Relation
from domain.entities.query.query import Operator, Path, SortKey, View


class Shape(Struct, frozen=True, kw_only=True):
    """The part of a query that determines its statement; it excludes values.

    ``after`` marks the cursor's values that are not null; ``cut`` marks those that are only the beginning of a text.
    ``is_deep``: the statement finds the ids of a page before its rows. ``counts``: it adds the total. ``narrowing``: it
    looks ids up in a search index if this is faster. ``is_planned``: PostgreSQL plans each execution for its values.
    """

    reach: Reach
    view: View
    where: tuple[tuple[Path, Operator], ...]
    words: int
    sort: tuple[SortKey, ...] = ()
    after: tuple[bool, ...] | None = None
    cut: tuple[int, ...] = ()
    is_deep: bool = False
    counts: bool = False
    narrowing: Narrowing | None = None
    is_planned: bool = True


class Related(NamedTuple):
    """The rows at the end of a relation, for a statement that joins or selects them.

    ``rows`` is the target's table under an alias of its own; a statement on it needs all of ``conditions``, of which
    the last one compares the keys. ``links`` is the junction table of links, which a condition adds to the statement.
    """

    model: EntityModel
    rows: NamedFromClause
    conditions: list[Truth]
    links: NamedFromClause | None = None


def in_reach(
    registry: Registry, model: EntityModel, rows: FromClause, reach: Reach, *, include_deleted: bool = False
) -> list[Truth]:
    """Conditions for the rows that the scope sees, without the deleted rows unless they are meant too."""
    tenant = [] if reach.is_every else [*owner(model, rows), *shared(model, rows)]
    limits, by_keys = reach.limits, not reach.is_single
    seen = visible(registry, model, rows, limits, by_keys=by_keys)
    if include_deleted:
        return [*tenant, *seen, *visible_deleted(registry, model, rows, limits, by_keys=by_keys)]
    return [*tenant, *seen, *living(model, rows)]


def related_rows(registry: Registry, relation: Relation, near: FromClause, alias: str, reach: Reach) -> Related:
    """Return the live rows of the same tenant that are related to the row ``near``, with their conditions."""
    target = registry.target(relation)
    far = rows_of(registry, target, alias)
    # Without a tenant parameter, compare the tenant of both rows.
    tenant = [far.c.tenant_id == near.c.tenant_id] if reach.is_every and target.tenant_owned else []
    reached = [*in_reach(registry, target, far, reach), *tenant]
    if registry[relation.holder].by_name[relation.by].link is not None:
        links, on = _linked(registry, relation, near, far, reach)
        return Related(target, far, [*reached, on], links)
    link = far.c[relation.by] == near.c.id if relation.is_many else far.c.id == near.c[relation.by]
    return Related(target, far, [*reached, link])


def _linked(
    registry: Registry, relation: Relation, near: FromClause, far: NamedFromClause, reach: Reach
) -> tuple[NamedFromClause, Truth]:
    """Return the junction table between both rows, and the condition that joins it."""
    source, end = (near, far) if relation.is_link else (far, near)
    links = junction_of(registry, registry[relation.holder], relation.by).alias(f"{far.name} links")
    tenant = [links.c.tenant_id == (near.c.tenant_id if reach.is_every else TENANT)] if "tenant_id" in links.c else []
    return links, sa.and_(*tenant, links.c.source_id == source.c.id, links.c.target_id == end.c.id)


def listed_rows(
    relation: Relation, related: Related, near: FromClause, columns: Sequence[str], sort: Sequence[SortKey]
) -> Select[Any]:
    """The related rows of a to-many relation in their order, which is to be limited.

    Keys are compared by a range of one value, and the order begins with the key. For an equality PostgreSQL expects as
    many rows as an average row has, and sorts all of them. For a range it expects many, and follows the index of the
    reference until the limit.
    """
    model, far, (*reached, link), links = related
    if links is not None:
        found = sa.select(*(far.c[name] for name in columns)).select_from(far).where(*reached, link).correlate(near)
        in_place = [links.c.place, links.c.target_id] if relation.is_link else _in_order(model, far, sort)
        return found.order_by(*in_place)
    key = far.c[relation.by]
    found = sa.select(*(far.c[name] for name in columns)).select_from(far)
    # correlated by hand: a subquery in FROM does not find the outer row by itself
    found = found.where(*reached, key.between(near.c.id, near.c.id)).correlate(near)
    return found.order_by(key.desc() if sort[0].descending else key, *_in_order(model, far, sort))


def _in_order(model: EntityModel, rows: FromClause, sort: Sequence[SortKey]) -> list[Value]:
    columns = ((rows.c[ordered_name(model, model.by_name[key.path.field])], key.descending) for key in sort)
    return [column.desc() if descending else column for column, descending in columns]
