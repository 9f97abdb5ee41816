"""Switches of a whole entity: ``tenant_owned``, which is refused, and ``soft_delete``, which changes its indexes."""

from collections.abc import Iterator

import sqlalchemy as sa
from alembic.operations import ops
from sqlalchemy import Connection, Index, MetaData, Table

from adapters.postgres.migrations.pending import MigrationRefused
from adapters.postgres.migrations.row_counts import row_count
from domain.entities.declaration import EntityModel, Registry


def ensure_possible(connection: Connection, registry: Registry) -> None:
    """Raises MigrationRefused for switches that no migration can make without a decision about the rows."""
    inspector = sa.inspect(connection)
    for model in registry:
        if inspector.has_table(model.table):
            key = inspector.get_pk_constraint(model.table)["constrained_columns"]
            if ("tenant_id" in key) != model.tenant_owned:
                raise MigrationRefused(_switched_owner(model, row_count(connection, model.table)))
            stored = {column["name"] for column in inspector.get_columns(model.table)}
            deleted = row_count(connection, model.table, sa.column("is_deleted", sa.Boolean()).is_(sa.true()))
            if not model.soft_delete and "is_deleted" in stored and deleted:
                raise MigrationRefused(_switched_deletion(model, deleted))


def replaced_indexes(connection: Connection, registry: Registry, metadata: MetaData) -> list[ops.ModifyTableOps]:
    """Operations for indexes whose condition on living rows comes or goes: Alembic compares no conditions."""
    inspector = sa.inspect(connection)
    tables = [model.table for model in registry if inspector.has_table(model.table)]
    stored = MetaData()
    stored.reflect(connection, only=tables, resolve_fks=False)  # all at once: one by one takes ten times as long
    found = ((table, list(_replacements(stored.tables[table], metadata.tables[table]))) for table in tables)
    return [ops.ModifyTableOps(table, operations) for table, operations in found if operations]


def _replacements(stored: Table, declared: Table) -> Iterator[ops.MigrateOperation]:
    indexes = {index.name: index for index in stored.indexes}
    for index in sorted(declared.indexes, key=lambda index: str(index.name)):
        before = indexes.get(index.name)
        if before is not None and _is_partial(before) != _is_partial(index):
            yield ops.DropIndexOp.from_index(before)
            yield ops.CreateIndexOp.from_index(index)


def _is_partial(index: Index) -> bool:
    return index.dialect_options["postgresql"]["where"] is not None


def _switched_owner(model: EntityModel, rows: int) -> str:
    return (
        f"{model.name}: tenant_owned={model.tenant_owned} is not what the table {model.table} was made with, and no "
        f"migration can know whose its {rows} rows would be. Set it back, or declare a second entity under another "
        "plural and copy the rows that it is to have."
    )


def _switched_deletion(model: EntityModel, deleted: int) -> str:
    return (
        f"{model.name}: soft_delete=False would bring {deleted} deleted row{'s' * (deleted != 1)} of {model.table} "
        "back to life. Set it back, or first delete them for good: each by ?permanent=true, or those of the table with "
        "is_deleted by a statement of your own."
    )
