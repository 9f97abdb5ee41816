"""Junction tables: one for each field with links, ``orders__tag_ids`` for the links of ``orders`` to tags.

The columns are ``source_id``, ``target_id`` and ``place``, the position among the row's links; and ``tenant_id`` if
the source belongs to a tenant.
"""

from sqlalchemy import Column, ForeignKeyConstraint, Index, Integer, MetaData, Table, Uuid

from adapters.postgres.schema.sql import short_name
from domain.entities.declaration import EntityModel, FieldModel, Registry

BETWEEN = "__"
"""Separates table and field in the name of a junction table; it does not occur in the table of an entity."""


def junction_name(model: EntityModel, field_name: str) -> str:
    """Return the name of a junction table, shortened with a checksum if it is too long."""
    return short_name(f"{model.table}{BETWEEN}{field_name}")


def tables_of(model: EntityModel) -> list[str]:
    """Return the names of an entity's table and of its junction tables."""
    return [model.table, *(junction_name(model, field.name) for field in model.links)]


def add_junctions(metadata: MetaData, registry: Registry) -> None:
    """Add the junction tables of all entities to ``metadata``, after the tables that they refer to."""
    for model in registry:
        for field in model.links:
            _add_junction(metadata, registry, model, field)


def _add_junction(metadata: MetaData, registry: Registry, model: EntityModel, field: FieldModel) -> None:
    assert field.link is not None, field.name
    target, name = registry[field.link.target], junction_name(model, field.name)
    owner = ["tenant_id"] if model.tenant_owned else []
    made = Table(
        name,
        metadata,
        *(Column(column, Uuid(), primary_key=True) for column in (*owner, "source_id", "target_id")),
        Column("place", Integer(), nullable=False),
    )
    # PostgreSQL looks for links by all columns of the key: a shared target has no tenant.
    by_target = (*owner, "target_id", "source_id") if target.tenant_owned else ("target_id", *owner, "source_id")
    Index(short_name("ix", name, "target"), *(made.c[column] for column in by_target))
    for end, other in (("source", model), ("target", target)):
        # Security: the keys contain the tenant, so that a link cannot name another tenant's row.
        shared = ["tenant_id"] if other.tenant_owned else []
        local, remote = [*shared, f"{end}_id"], [f"{other.table}.{column}" for column in (*shared, "id")]
        # A link has no values of its own, so it ends with the rows at its ends.
        key = ForeignKeyConstraint(local, remote, name=short_name("fk", name, end), ondelete="CASCADE")
        made.append_constraint(key)
