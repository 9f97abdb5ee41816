"""ORM classes of entities, on the tables that migrations and statements also use."""

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from advanced_alchemy.base import CommonTableAttributes
from sqlalchemy.ext.asyncio import AsyncAttrs
from sqlalchemy.orm import DeclarativeBase, RelationshipProperty, foreign, relationship, remote

from adapters.postgres.own_queries.row_marks import EntityRow, SoftDeletedRow
from adapters.postgres.schema.copies import is_name_of_copy
from adapters.postgres.schema.links import junction_name
from adapters.postgres.statements.rows import table_of
from domain.entities.declaration import EntityModel, Registry, Relation


def entity_classes(registry: Registry, tables: sa.MetaData) -> Mapping[str, type[Any]]:
    """Return ORM classes by the entity's plural, with an attribute for each declared relation."""
    # A base per call: two registries of a process may both have a class called Book.
    base = type("EntityBase", (CommonTableAttributes, AsyncAttrs, DeclarativeBase), {"metadata": tables})
    classes: dict[str, type[Any]] = {}
    # Relations lead to internal entities too, such as the files of rows.
    for model in (*registry, *registry.internal.values()):
        classes[model.plural] = _entity_class(base, model, registry, classes)
    return {plural: classes[plural] for plural in registry.models}


def _entity_class(
    base: type[Any], model: EntityModel, registry: Registry, classes: Mapping[str, type[Any]]
) -> type[Any]:
    table = table_of(registry, model)
    members: dict[str, Any] = {
        "__table__": table,
        "__mapper_args__": _mapper_arguments(table),
        "__module__": __name__,
        "__doc__": f"Row of {model.plural}.",
    }
    for name, relation in model.relations.items():
        members[name] = _relationship(table, relation, registry, classes)
    mark = SoftDeletedRow if "is_deleted" in table.c else EntityRow
    return type(model.name, (mark, base), members)


def _mapper_arguments(table: sa.Table) -> dict[str, Any]:
    # A session shows one tenant, so the id identifies a row. The table's key (tenant_id, id) would need a tuple in
    # `repository.get(id)`.
    copies = [column.name for column in table.c if is_name_of_copy(column.name)]
    arguments: dict[str, Any] = {"primary_key": [table.c.id], "exclude_properties": copies}
    if "version" in table.c:
        arguments["version_id_col"] = table.c.version  # optimistic locking
    return arguments


def _relationship(
    table: sa.Table, relation: Relation, registry: Registry, classes: Mapping[str, type[Any]]
) -> RelationshipProperty[Any]:
    target = registry.target(relation).plural
    far = table_of(registry, registry[target])
    if registry[relation.holder].by_name[relation.by].link is not None:
        return _linked(table, far, relation, registry, lambda: classes[target])
    # `remote` distinguishes the sides of a self-reference.
    if relation.is_many:
        condition = table.c.id == remote(foreign(far.c[relation.by]))
    else:
        condition = foreign(table.c[relation.by]) == remote(far.c.id)
    conditions = [condition]
    if "tenant_id" in table.c and "tenant_id" in far.c:
        conditions.append(table.c.tenant_id == remote(far.c.tenant_id))
    if "is_deleted" in far.c:
        conditions.append(sa.not_(remote(far.c.is_deleted)))
    return relationship(
        lambda: classes[target], primaryjoin=sa.and_(*conditions), viewonly=True, uselist=relation.is_many
    )


def _linked(
    table: sa.Table, far: sa.Table, relation: Relation, registry: Registry, target: Callable[[], type[Any]]
) -> RelationshipProperty[Any]:
    links = table.metadata.tables[junction_name(registry[relation.holder], relation.by)]
    here, there = (links.c.source_id, links.c.target_id) if relation.is_link else (links.c.target_id, links.c.source_id)
    first, second = [here == table.c.id], [there == far.c.id]
    for conditions, end in ((first, table), (second, far)):
        if "tenant_id" in links.c and "tenant_id" in end.c:
            conditions.append(links.c.tenant_id == end.c.tenant_id)
    if "is_deleted" in far.c:
        second.append(sa.not_(far.c.is_deleted))
    return relationship(
        target,
        secondary=links,
        primaryjoin=sa.and_(*first),
        secondaryjoin=sa.and_(*second),
        order_by=links.c.place if relation.is_link else False,
        viewonly=True,
    )
