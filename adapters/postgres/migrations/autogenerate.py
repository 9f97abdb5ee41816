"""Limits of autogenerate: it drops no table and no column, secures new tables, and writes in a fixed order."""

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeGuard

from alembic.autogenerate.api import AutogenContext
from alembic.operations import ops
from alembic.runtime.migration import MigrationContext
from sqlalchemy import ARRAY, DefaultClause, TextClause
from sqlalchemy.schema import Column, ForeignKeyConstraint, SchemaItem
from sqlalchemy.types import TypeEngine

from adapters.postgres.migrations import copies
from adapters.postgres.migrations.changes import way_back
from adapters.postgres.migrations.guards import Guards
from adapters.postgres.migrations.online.writing import ONLINE_MESSAGE, Locks, split
from adapters.postgres.migrations.operations import FillIn, FillInDefault, SecureTable, called_fill_in, converted
from adapters.postgres.migrations.switches import EnsureNoneDeleted
from adapters.postgres.schema.copies import is_name_of_copy

_PARAMETER = re.compile(r"(?<![:\w\\]):(\w+)(?!:)")
_ESCAPED = r"\\:\1"
_NOT_BY_TENANT = frozenset({"sessions"})
"""Tables with a ``tenant_id`` that is not the owner of the row: a session has the tenant that its user chose."""


def is_ours(item: SchemaItem, name: str | None, kind: str, is_stored: bool, declared: SchemaItem | None) -> bool:
    """Filter the items to compare: of database-only items, include columns, unique indexes and foreign keys."""
    # An undeclared unique index or foreign key would refuse rows that are now allowed. Other items do no harm and may
    # hold data.
    if not is_stored or declared is not None or kind == "column" or copies.is_of_copy(item):
        return True
    return kind == "foreign_key_constraint" or (kind == "index" and str(name).startswith("uq_"))


def is_other_type(
    _context: MigrationContext,
    _stored: Column[Any],
    _declared: Column[Any],
    before: TypeEngine[Any],
    after: TypeEngine[Any],
) -> bool | None:
    """Return True for a change between a list and another type; None leaves the comparison to Alembic."""
    # Alembic compares only the first words of types, so "text" equals "text[]".
    items = [kind.item_type if isinstance(kind, ARRAY) else None for kind in (before, after)]
    return True if type(items[0]) is not type(items[1]) and None in items else None


def render_item(kind: str, item: object, context: AutogenContext) -> str | Literal[False]:
    """Return a column's default as text in a migration; False leaves it, and types, to Alembic."""
    if isinstance(item, FillInDefault):
        return called_fill_in(context, item.why)
    if kind == "server_default" and isinstance(item, DefaultClause) and isinstance(item.arg, str):
        # Alembic removes a quote from both ends.
        return repr(item.arg)
    if kind == "server_default" and isinstance(item, DefaultClause) and isinstance(item.arg, TextClause):
        # A word after a colon in a stored default is not a parameter.
        return f"sa.text({_PARAMETER.sub(_ESCAPED, item.arg.text)!r})"
    return False


def tidy(context: MigrationContext, _revision: object, directives: list[ops.MigrationScript]) -> None:
    """Rewrite Alembic's proposed script; remove it if it is empty."""
    script = directives[0]
    assert script.upgrade_ops is not None
    attributes = context.config.attributes if context.config is not None else {}
    notes: list[str] = attributes.get("notes", [])
    is_check = attributes.get("is_check", False)
    rings = [key for operation in script.upgrade_ops.ops for key in _without_rings(operation)]
    proposed = [*copies.remade(context, _tidied(script.upgrade_ops.ops, notes), notes), *rings]
    if is_check:
        # Do not remove an empty script: `check` reads it, and would fail with an IndexError.
        script.upgrade_ops.ops, script.downgrade_ops = proposed, ops.DowngradeOps([])
        return
    guarded = Guards(context, notes, attributes.get("choices", {})).guarded(
        _ordered([*proposed, *attributes.get("last", [])])
    )
    together, after = split([*attributes.get("first", []), *guarded])
    directives[:] = _scripts(script, together, after)


def _scripts(script: ops.MigrationScript, together: list[Any], after: list[Any]) -> Iterator[ops.MigrationScript]:
    """Yield a script for the transaction, and one for later operations, if any."""
    number = script.rev_id or ""
    if together:
        _fill(script, together, is_beside=False)
        yield script
    if together and after:
        script = ops.MigrationScript(
            rev_id=f"{int(number) + 1:0{len(number)}}",
            message=f"{script.message}{ONLINE_MESSAGE}",
            upgrade_ops=ops.UpgradeOps([]),
            downgrade_ops=ops.DowngradeOps([]),
            head=number,
            version_path=script.version_path,
        )
    if after:
        _fill(script, after, is_beside=True)
        yield script


def _fill(script: ops.MigrationScript, operations: list[Any], *, is_beside: bool) -> None:
    assert script.upgrade_ops is not None
    script.upgrade_ops.ops = [Locks(operations, is_beside=is_beside), *operations]
    script.downgrade_ops = ops.DowngradeOps(_reversed(operations))


def _tidied(operations: list[Any], notes: list[str]) -> Iterator[Any]:
    for operation in operations:
        if isinstance(operation, ops.ModifyTableOps):
            operation.ops = list(_tidied(operation.ops, notes))
            if operation.ops:
                yield operation
        elif isinstance(operation, ops.DropColumnOp) and not is_name_of_copy(operation.column_name):
            yield from _left(operation, notes)
        else:
            yield operation
        if isinstance(operation, ops.CreateTableOp):
            names = {getattr(column, "name", None) for column in operation.columns}
            by_tenant = "tenant_id" in names and operation.table_name not in _NOT_BY_TENANT
            yield SecureTable(operation.table_name, by_tenant=by_tenant)


def _without_rings(operation: object) -> Iterator[ops.CreateForeignKeyOp]:
    """Remove from a new table the foreign keys that need all tables; yield operations to create these keys later."""
    if isinstance(operation, ops.CreateTableOp):
        late = sorted(filter(_is_late, operation.columns), key=_named)
        yield from (ops.CreateForeignKeyOp.from_constraint(item) for item in late)
        operation.columns = [item for item in operation.columns if not _is_late(item)]


def _is_late(item: object) -> TypeGuard[ForeignKeyConstraint]:
    return isinstance(item, ForeignKeyConstraint) and item.use_alter


def _ordered(operations: list[Any]) -> list[Any]:
    """Sort SQLAlchemy's unordered constraints, indexes and keys."""
    for operation in operations:
        if isinstance(operation, ops.CreateTableOp):
            columns = [item for item in operation.columns if isinstance(item, Column)]
            constraints = [item for item in operation.columns if not isinstance(item, Column)]
            operation.columns = [*columns, *sorted(constraints, key=_named)]
        elif isinstance(operation, ops.ModifyTableOps):
            operation.ops = sorted(operation.ops, key=_place)
    return operations


def _place(operation: object) -> tuple[int, str]:
    """Rank drops before replacements, and columns before objects built on them, by name."""
    # Drop generated columns first: PostgreSQL cannot change a column that a generated column uses. A migration drops no
    # other columns.
    drops = (ops.DropConstraintOp, ops.DropIndexOp, ops.DropColumnOp)
    order = (*drops, ops.AlterColumnOp, ops.AddColumnOp, ops.CreateIndexOp)
    kinds = [rank for rank, kind in enumerate(order) if isinstance(operation, kind)]
    # Retain the declaration order of columns.
    name = "" if isinstance(operation, ops.AddColumnOp) else _named(operation)
    return (kinds[0] if kinds else len(order), name)


def _named(item: object) -> str:
    names = (getattr(item, key, None) for key in ("constraint_name", "index_name", "column_name", "name"))
    return f"{type(item).__name__} {next((name for name in names if name is not None), '')}"


def _reversed(operations: list[Any]) -> list[Any]:
    """Return the operations of a downgrade; values that the upgrade corrected stay corrected."""
    found: list[Any] = []
    for operation in reversed(operations):
        if isinstance(operation, ops.ModifyTableOps):
            found.append(ops.ModifyTableOps(operation.table_name, _reversed(operation.ops), schema=operation.schema))
        elif not isinstance(operation, EnsureNoneDeleted | FillIn | SecureTable):
            found.append(_way_back(operation.reverse()))
    return found


def _way_back(operation: Any) -> Any:
    """Return the operation of a downgrade; a change of a type gets the ``USING`` of its direction."""
    if not isinstance(operation, ops.AlterColumnOp) or operation.modify_type is None:
        return operation
    assert operation.existing_type is not None
    using = way_back(operation.existing_type, operation.modify_type, operation.column_name)
    return converted(operation, using=using)


def _left(operation: ops.DropColumnOp, notes: list[str]) -> Iterator[ops.AlterColumnOp]:
    """Return the change that makes an undeclared column nullable, for new rows; the column remains."""
    column = operation.to_column()
    notes.append(f"{operation.table_name}.{column.name} is left as it is: nothing declares it any more.")
    if not column.nullable:
        yield ops.AlterColumnOp(
            operation.table_name, column.name, existing_type=column.type, existing_nullable=False, modify_nullable=True
        )
