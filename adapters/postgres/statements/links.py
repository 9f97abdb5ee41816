"""Parts of statements over junction tables: the links of rows, and what they lead to."""

from collections.abc import Callable, Sequence

import sqlalchemy as sa
from sqlalchemy import FromClause, func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.schema.links import junction_name
from adapters.postgres.schema.schema import metadata_for
from adapters.postgres.statements.compiled import constant
from adapters.postgres.statements.owning import Reach
from adapters.postgres.statements.rows import TENANT, Truth, Value, rows_of
from domain.entities.declaration import EntityModel, FieldModel, Registry

IDS_OF_LINKS = ARRAY(sa.Uuid())
NO_LINKS: Value = sa.cast(sa.literal_column("'{}'"), IDS_OF_LINKS)

_ONE_ROW = Reach(is_every=False, is_single=True)

Seen = Callable[[EntityModel, FromClause], Sequence[Truth]]
"""Conditions for the targets that a statement may see."""


def junction_of(registry: Registry, model: EntityModel, name: str) -> sa.Table:
    """Return the junction table of the field ``name`` of ``model``."""
    return metadata_for(registry).tables[junction_name(model, name)]


def linked_to(registry: Registry, field: FieldModel) -> EntityModel:
    assert field.link is not None, field.name
    return registry[field.link.target]


def of_source(links: FromClause, near: FromClause, *, is_every: bool = False) -> list[Truth]:
    """Return the conditions for the links of the row ``near``; with ``is_every`` the tenant is that of the row."""
    tenant = near.c.tenant_id if is_every else TENANT
    return [*([links.c.tenant_id == tenant] if "tenant_id" in links.c else []), links.c.source_id == near.c.id]


def links_to(
    registry: Registry, model: EntityModel, field: FieldModel, near: FromClause, seen: Seen, *, is_every: bool = False
) -> tuple[FromClause, FromClause, list[Truth]]:
    """Return the links of the row ``near``, the links joined to the targets that are seen, and the conditions."""
    target = linked_to(registry, field)
    links, far = junction_of(registry, model, field.name).alias("l"), rows_of(registry, target, "lt")
    same = [far.c.tenant_id == links.c.tenant_id] if target.tenant_owned else []
    joined = links.join(far, sa.and_(far.c.id == links.c.target_id, *same))
    return links, joined, [*of_source(links, near, is_every=is_every), *seen(target, far)]


def linked_ids(
    registry: Registry, model: EntityModel, field: FieldModel, near: FromClause, seen: Seen, reach: Reach = _ONE_ROW
) -> Value:
    """Return the ids of the targets of the row ``near`` in their order, as an array."""
    target, links = linked_to(registry, field), junction_of(registry, model, field.name).alias("l")
    ids = sa.select(links.c.target_id).where(*of_source(links, near, is_every=reach.is_every))
    if _may_be_hidden(target):
        far = rows_of(registry, target, "lt")
        same = [far.c.tenant_id == links.c.tenant_id] if target.tenant_owned and reach.is_every else []
        found = sa.select().select_from(far).where(*seen(target, far), *same, far.c.id == links.c.target_id)
        # A join would read the targets for each row. OFFSET looks each target up. coalesce() also allows PostgreSQL to
        # read the targets of the tenant once for all rows, if they are few.
        if reach.is_single:
            ids = ids.where(found.offset(constant(0)).correlate(links).exists())
        else:
            ids = ids.where(func.coalesce(found.correlate(links).exists(), sa.false()))
    ids = ids.order_by(links.c.place, links.c.target_id).correlate(near)
    return func.array(ids.scalar_subquery(), type_=IDS_OF_LINKS)


def _may_be_hidden(target: EntityModel) -> bool:
    """Return whether some callers do not see some rows; the foreign key guarantees that other targets are seen."""
    declared = target.declaration
    return target.soft_delete or bool(declared.own) or declared.shared_with is not None
