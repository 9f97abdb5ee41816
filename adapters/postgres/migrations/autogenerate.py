"""Limits of autogenerate: it drops no table and no column, and secures every table that it makes."""

from collections.abc import Iterator
from typing import Any, Literal, TypeGuard

from advanced_alchemy.types import DateTimeUTC
from alembic.autogenerate.api import AutogenContext
from alembic.operations import ops
from alembic.runtime.migration import MigrationContext
from sqlalchemy.schema import ForeignKeyConstraint, SchemaItem

from adapters.postgres.migrations.operations import SecureTable

_NOT_BY_TENANT = frozenset({"sessions"})
"""Tables with a ``tenant_id`` that does not own the row: a session names the tenant that its user chose."""


def is_ours(_item: SchemaItem, name: str | None, kind: str, is_stored: bool, declared: SchemaItem | None) -> bool:
    """Filters what is compared: of what only the database has, unique indexes and foreign keys alone are dropped."""
    # Those would refuse rows that the declarations allow now; anything else does no harm, and may hold data.
    if not is_stored or declared is not None or kind == "column":
        return True
    return kind == "foreign_key_constraint" or (kind == "index" and str(name).startswith("uq_"))


def render_item(kind: str, item: object, _context: AutogenContext) -> str | Literal[False]:
    """Text of a column's type in a migration; False leaves it to Alembic."""
    # migrations name the types of SQLAlchemy: an applied one must not depend on a library's own type of today
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, DateTimeUTC) else False


def tidy(context: MigrationContext, _revision: object, directives: list[ops.MigrationScript]) -> None:
    """Rewrites the script that Alembic proposes, and takes it away when nothing is left in it."""
    script = directives[0]
    assert script.upgrade_ops is not None
    attributes = context.config.attributes if context.config is not None else {}
    notes: list[str] = attributes.get("notes", [])
    rings = [key for operation in script.upgrade_ops.ops for key in _without_rings(operation)]
    script.upgrade_ops.ops = [*_tidied(script.upgrade_ops.ops, notes), *rings]
    script.downgrade_ops = ops.DowngradeOps([])
    # `check` reads the script, and fails with an IndexError where there is none
    if not script.upgrade_ops.ops and not attributes.get("is_check", False):
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
    """Takes out of a new table the keys that it can only have when all tables are made."""
    if isinstance(operation, ops.CreateTableOp):
        yield from (ops.CreateForeignKeyOp.from_constraint(item) for item in operation.columns if _is_late(item))
        operation.columns = [item for item in operation.columns if not _is_late(item)]


def _is_late(item: object) -> TypeGuard[ForeignKeyConstraint]:
    return isinstance(item, ForeignKeyConstraint) and item.use_alter


def _added(operation: ops.AddColumnOp, notes: list[str]) -> ops.AddColumnOp:
    column = operation.column
    if not column.nullable and column.server_default is None:
        notes.append(
            f"{operation.table_name}.{column.name} is required and has no default: if the table has rows, change the "
            "migration so that it gives them a value first."
        )
    return operation


def _left(operation: ops.DropColumnOp, notes: list[str]) -> Iterator[ops.AlterColumnOp]:
    """Keeps a column that nothing declares any more, with its data, and lets new rows do without it."""
    column = operation.to_column()
    notes.append(f"{operation.table_name}.{column.name} is left as it is: nothing declares it any more.")
    if not column.nullable:
        yield ops.AlterColumnOp(
            operation.table_name, column.name, existing_type=column.type, existing_nullable=False, modify_nullable=True
        )
