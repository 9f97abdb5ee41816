"""What autogenerate may propose: it never drops a table or a column, and secures each table that it makes."""

from collections.abc import Iterator
from typing import Any, TypeGuard

from alembic.operations import ops
from alembic.runtime.migration import MigrationContext
from sqlalchemy.schema import ForeignKeyConstraint, SchemaItem

from adapters.postgres.migrations.operations import SecureTable

_NOT_BY_TENANT = frozenset({"sessions"})
"""They name a tenant that is chosen, and are not owned by it."""


def is_ours(_item: SchemaItem, name: str | None, kind: str, is_stored: bool, declared: SchemaItem | None) -> bool:
    """Of what is stored and not declared only uniques and foreign keys go: they would refuse what is right now."""
    if not is_stored or declared is not None or kind == "column":
        return True
    return kind == "foreign_key_constraint" or (kind == "index" and str(name).startswith("uq_"))


def tidy(context: MigrationContext, _revision: object, directives: list[ops.MigrationScript]) -> None:
    script = directives[0]
    assert script.upgrade_ops is not None
    notes: list[str] = context.config.attributes["notes"] if context.config is not None else []
    rings = [key for operation in script.upgrade_ops.ops for key in _without_rings(operation)]
    script.upgrade_ops.ops = [*_tidied(script.upgrade_ops.ops, notes), *rings]
    script.downgrade_ops = ops.DowngradeOps([])
    if not script.upgrade_ops.ops:
        directives.clear()


def _tidied(operations: list[Any], notes: list[str]) -> Iterator[Any]:
    for operation in operations:
        if isinstance(operation, ops.ModifyTableOps):
            operation.ops = list(_tidied(operation.ops, notes))
            if operation.ops:
                yield operation
        elif isinstance(operation, ops.DropColumnOp):
            yield from _left(operation, notes)
        elif isinstance(operation, ops.AddColumnOp):
            yield _added(operation, notes)
        else:
            yield operation
        if isinstance(operation, ops.CreateTableOp):
            names = {getattr(column, "name", None) for column in operation.columns}
            by_tenant = "tenant_id" in names and operation.table_name not in _NOT_BY_TENANT
            yield SecureTable(operation.table_name, by_tenant=by_tenant)


def _without_rings(operation: object) -> Iterator[ops.CreateForeignKeyOp]:
    """The keys that a new table can only have when all others are made, taken out of it."""
    if isinstance(operation, ops.CreateTableOp):
        yield from (ops.CreateForeignKeyOp.from_constraint(one) for one in operation.columns if _is_late(one))
        operation.columns = [one for one in operation.columns if not _is_late(one)]


def _is_late(item: object) -> TypeGuard[ForeignKeyConstraint]:
    return isinstance(item, ForeignKeyConstraint) and item.use_alter


def _added(operation: ops.AddColumnOp, notes: list[str]) -> ops.AddColumnOp:
    column = operation.column
    if not column.nullable and column.server_default is None:
        notes.append(
            f"{operation.table_name}.{column.name} is required and has no default: where there are rows already, "
            "let the migration say first what they hold."
        )
    return operation


def _left(operation: ops.DropColumnOp, notes: list[str]) -> Iterator[ops.AlterColumnOp]:
    """The column keeps its data; it only must not refuse rows that know nothing of it."""
    column = operation.to_column()
    notes.append(f"{operation.table_name}.{column.name} is left as it is: nothing declares it any more.")
    if not column.nullable:
        yield ops.AlterColumnOp(
            operation.table_name, column.name, existing_type=column.type, existing_nullable=False, modify_nullable=True
        )
