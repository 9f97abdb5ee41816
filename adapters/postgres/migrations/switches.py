"""Entity-wide switches: ``tenant_owned``, which cannot change, and ``soft_delete``, which changes indexes."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from alembic.autogenerate import renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations import ops
from sqlalchemy import Connection, Index, Inspector, MetaData, Table
from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedIndex
from sqlalchemy.types import TypeEngine

from adapters.postgres.migrations.pending import MigrationRefused
from adapters.postgres.migrations.row_counts import row_count
from adapters.postgres.schema.sql import ddl
from domain.entities.declaration import EntityModel, Registry

_IS_DELETED = sa.column("is_deleted", sa.Boolean()).is_(sa.true())
# Block writers until the transaction ends, so that no row is deleted after the count.
_LOCK = "LOCK TABLE %(fullname)s IN SHARE ROW EXCLUSIVE MODE"
_PRINTED = """
DO $$
BEGIN
    PERFORM set_config('tenantry.scope', 'every', true);
    LOCK TABLE %(fullname)s IN SHARE ROW EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM %(fullname)s WHERE is_deleted) THEN
        RAISE EXCEPTION 'soft_delete=False would bring deleted rows of %(table)s back to life';
    END IF;
END
$$"""


def ensure_possible(connection: Connection, registry: Registry) -> None:
    """Raise MigrationRefused for changes of options that require a decision about the rows."""
    inspector = sa.inspect(connection)
    # One query for all tables is ten times faster.
    tables = [model.table for model in registry.stored]
    keys, columns = inspector.get_multi_pk_constraint(filter_names=tables), stored_columns(inspector, tables)
    for model in registry.stored:
        if model.table in columns:
            key = keys[None, model.table]["constrained_columns"]
            if ("tenant_id" in key) != model.tenant_owned:
                raise MigrationRefused(_switched_owner(model, row_count(connection, model.table)))
            # Count only if soft delete is off, because it reads the whole table.
            if not model.soft_delete and "is_deleted" in columns[model.table]:
                _ensure_none_is_deleted(connection, model)


def guards(connection: Connection, registry: Registry) -> list["EnsureNoneDeleted"]:
    """Return operations for entities that lose soft delete: another database may have deleted rows."""
    tables = [model.table for model in registry.stored if not model.soft_delete]
    stored = sa.inspect(connection).get_multi_columns(filter_names=tables)
    # The migration that turns soft delete off also makes the mark optional.
    marked = {table for (_, table), columns in stored.items() for column in columns if _is_mark(column)}
    return [EnsureNoneDeleted(table) for table in tables if table in marked]


def _is_mark(column: ReflectedColumn) -> bool:
    return column["name"] == "is_deleted" and not column["nullable"]


def ensure_none_deleted(table: str) -> None:
    """Refuse to continue if the table has deleted rows, which would be live again without ``soft_delete``."""
    if op.get_context().as_sql:
        op.execute(ddl(_PRINTED, table=table))
        return
    op.execute(ddl(_LOCK, table=table))
    deleted = row_count(op.get_bind(), table, _IS_DELETED)
    if deleted:
        raise MigrationRefused(f"The migration cannot be applied: {_would_live(table, deleted)}")


class EnsureNoneDeleted(ops.MigrateOperation):
    """Operation before soft delete is turned off; a migration file contains it as ``ensure_none_deleted(…)``."""

    def __init__(self, table: str) -> None:
        self.table = table

    def reverse(self) -> ops.MigrateOperation:
        return self  # omitted from a downgrade, which marks deleted rows again

    def to_diff_tuple(self) -> tuple[str, str]:
        return ("ensure_none_deleted", self.table)


@renderers.dispatch_for(EnsureNoneDeleted)
def _render(context: AutogenContext, operation: EnsureNoneDeleted) -> str:
    context.imports.add("from tenantry.migrations import ensure_none_deleted")
    return f"ensure_none_deleted({operation.table!r})"


def stored_columns(inspector: Inspector, tables: Sequence[str]) -> dict[str, dict[str, TypeEngine[Any]]]:
    """Return the type of each column of those tables that the database has."""
    found = inspector.get_multi_columns(filter_names=tables)
    return {table: {column["name"]: column["type"] for column in columns} for (_, table), columns in found.items()}


def _ensure_none_is_deleted(connection: Connection, model: EntityModel) -> None:
    deleted = row_count(connection, model.table, _IS_DELETED)
    if deleted:
        raise MigrationRefused(f"{model.name}: {_would_live(model.table, deleted)}")


def replaced_indexes(connection: Connection, registry: Registry, metadata: MetaData) -> list[ops.ModifyTableOps]:
    """Return operations for indexes that gain or lose the condition on live rows; Alembic does not compare it."""
    inspector = sa.inspect(connection)
    # One query for all tables is ten times faster.
    tables = [model.table for model in registry.stored]
    stored = inspector.get_multi_indexes(filter_names=tables)
    switched = [
        table
        for table in tables
        if any(_is_switched(index, metadata.tables[table]) for index in stored.get((None, table), ()))
    ]
    reflected = MetaData()
    if switched:  # reflect() without names reads all tables of the database
        reflected.reflect(connection, only=switched, resolve_fks=False)
    return [
        ops.ModifyTableOps(table, list(_replacements(reflected.tables[table], metadata.tables[table])))
        for table in switched
    ]


def _is_switched(stored: ReflectedIndex, declared: Table) -> bool:
    is_partial = "postgresql_where" in stored.get("dialect_options", {})
    return any(index.name == stored["name"] and _is_partial(index) != is_partial for index in declared.indexes)


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


def _would_live(table: str, deleted: int) -> str:
    return (
        f"soft_delete=False would bring {deleted} deleted row{'s' * (deleted != 1)} of {table} "
        "back to life. Set it back, or first delete them for good: each by ?permanent=true, or those of the table with "
        "is_deleted by a statement of your own."
    )
