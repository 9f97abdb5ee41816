"""Migration operations for copies of fields.

A migration drops a copy and its indexes before it changes the field, and creates them again after it.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from alembic.operations import ops
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Index, MetaData, Table
from sqlalchemy.schema import SchemaItem

from adapters.postgres.schema.copies import COPY_OF, is_name_of_copy


def is_of_copy(item: SchemaItem) -> bool:
    """Return whether a database-only index is over a copy, and is dropped with it."""
    return isinstance(item, Index) and any(is_name_of_copy(column.name) for column in item.columns)


def remade(context: MigrationContext, operations: Iterable[Any], notes: list[str]) -> Iterator[Any]:
    """Yield a migration's operations; drop copies before a change of their fields and create them again.

    PostgreSQL cannot change the type of a column used by a generated column.
    """
    metadata: MetaData = context.opts["target_metadata"]
    for operation in operations:
        if isinstance(operation, ops.ModifyTableOps):
            declared = metadata.tables[operation.table_name]
            operation.ops = [*operation.ops, *_around_changes(declared, operation.ops)]
            notes += _notes(operation)
        yield operation


def _around_changes(declared: Table, operations: list[Any]) -> Iterator[ops.MigrateOperation]:
    added = {operation.column.name for operation in operations if isinstance(operation, ops.AddColumnOp)}
    created = {operation.index_name for operation in operations if isinstance(operation, ops.CreateIndexOp)}
    changed = {
        operation.column_name
        for operation in operations
        if isinstance(operation, ops.AlterColumnOp) and operation.modify_type is not None
    }
    for column in declared.columns:
        if column.name in added or not is_name_of_copy(column.name) or column.info[COPY_OF] not in changed:
            continue
        yield ops.DropColumnOp.from_column_and_tablename(None, declared.name, column)
        yield ops.AddColumnOp.from_column_and_tablename(None, declared.name, column)
        for index in sorted(declared.indexes, key=lambda index: str(index.name)):
            if column.name in index.columns and index.name not in created:
                created.add(str(index.name))
                yield ops.DropIndexOp.from_index(index)
                yield ops.CreateIndexOp.from_index(index)


def _notes(operation: ops.ModifyTableOps) -> Iterator[str]:
    for inside in operation.ops:
        if isinstance(inside, ops.AddColumnOp) and is_name_of_copy(inside.column.name):
            yield (
                f"{operation.table_name}.{inside.column.name} is a generated copy of {inside.column.info[COPY_OF]}: "
                "PostgreSQL writes the table anew, and nobody reads or writes it meanwhile."
            )
