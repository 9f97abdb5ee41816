"""Guards of a new migration: operations that would lose values or fail need a decision."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from alembic.operations import ops
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, MetaData

from adapters.postgres.migrations.changes import cast_of, conversion, keeps_every_value, shown, suffering
from adapters.postgres.migrations.operations import FillIn, FillInDefault, converted
from adapters.postgres.migrations.row_counts import dangling, duplicates, row_count
from adapters.postgres.schema.copies import original


@dataclass(frozen=True)
class Guards:
    """Checks each operation against the database, and adds ``fill_in`` where a person must decide."""

    context: MigrationContext
    notes: list[str]
    choices: Mapping[tuple[str, str], Sequence[str]]

    def guarded(self, operations: Iterable[Any]) -> list[Any]:
        found: list[Any] = []
        for operation in operations:
            if isinstance(operation, ops.ModifyTableOps):
                added = {
                    inside.column.name: inside.column
                    for inside in operation.ops
                    if isinstance(inside, ops.AddColumnOp) and inside.column.computed is None
                }
                inner = [item for inside in operation.ops for item in self._guarded(inside, added)]
                found.append(ops.ModifyTableOps(operation.table_name, inner, schema=operation.schema))
            else:
                found.append(operation)
        return found

    @property
    def _connection(self) -> Connection:
        assert self.context.connection is not None
        return self.context.connection

    def _guarded(self, operation: Any, added: Mapping[str, sa.Column[Any]]) -> Iterator[Any]:
        if isinstance(operation, ops.AddColumnOp):
            yield self._added(operation)
        elif isinstance(operation, ops.AlterColumnOp):
            yield from self._altered(operation)
        else:
            if isinstance(operation, ops.CreateIndexOp) and operation.unique:
                yield from self._unique(operation, added)
            if isinstance(operation, ops.CreateForeignKeyOp):
                yield from self._reference(operation)
            yield operation

    def _added(self, operation: ops.AddColumnOp) -> ops.AddColumnOp:
        table, column = operation.table_name, operation.column
        if column.nullable or column.server_default is not None:
            return operation
        rows = row_count(self._connection, table)
        if rows == 0:
            self.notes.append(
                f"{table}.{column.name} is required and has no default: the migration fails on a database where "
                f"{table} has rows."
            )
            return operation
        why = (
            f"{table}.{column.name} is required and has no default, and {table} has {_rows(rows)}. Write the value "
            "that those get, or take the file back and declare the field with a default, or with null for now."
        )
        self.notes.append(why)
        waiting = column._copy()  # noqa: SLF001  # SQLAlchemy has no public copy of a column
        waiting.server_default = FillInDefault(why)
        return ops.AddColumnOp(table, waiting, schema=operation.schema)

    def _altered(self, operation: ops.AlterColumnOp) -> Iterator[Any]:
        if operation.modify_nullable is False:
            yield from self._required(operation)
        if operation.modify_type is None or operation.existing_type is None:
            yield operation
            return
        before, after = operation.existing_type, operation.modify_type
        if operation.existing_server_default not in (None, False):
            # PostgreSQL does not convert the column's default with its values, so drop the default. The service sends
            # the value for new rows.
            yield _without_default(operation)
            operation.existing_server_default = None
        column = (operation.table_name, operation.column_name)
        if keeps_every_value(before, after) and (isinstance(before, sa.String) or column not in self.choices):
            using = conversion(before, after, operation.column_name)
            yield converted(operation, using=using) if using else operation
            return
        yield converted(operation, why=self._narrowed(operation.table_name, operation.column_name, before, after))

    def _narrowed(self, table: str, name: str, before: Any, after: Any) -> str:
        stored = sa.column(name, before)
        choices = self.choices.get((table, name))
        # Text converted to an enum must be one of its members.
        hurting = sa.cast(stored, sa.Text()).not_in(choices) if choices else suffering(stored, before, after)
        hurt = row_count(self._connection, table, hurting)
        rows = row_count(self._connection, table)
        why = (
            f"{table}.{name} becomes {shown(after)} from {shown(before)}: {hurt} of {_rows(rows)} would change or "
            f"fail. Write the expression that converts the values, such as {cast_of(before, after, name)!r}, which may "
            "round or fail."
        )
        self.notes.append(why)
        return why

    def _required(self, operation: ops.AlterColumnOp) -> Iterator[FillIn]:
        table, name = operation.table_name, operation.column_name
        nulls = row_count(self._connection, table, sa.column(name).is_(None))
        if nulls:
            why = (
                f"{table}.{name} is required now, and is null in {_rows(nulls)}. Write the statement that gives "
                "those a value, or take the file back and leave the field nullable."
            )
            self.notes.append(why)
            yield FillIn(why)

    def _unique(self, operation: ops.CreateIndexOp, added: Mapping[str, sa.Column[Any]]) -> Iterator[FillIn]:
        metadata: MetaData = self.context.opts["target_metadata"]
        where = operation.kw.get("postgresql_where")
        # A key is a column of the declared table or an expression over its columns, including new copies.
        keys: list[Any] = [sa.column(key) if isinstance(key, str) else original(key) for key in operation.columns]
        new = {name: column for name, column in added.items() if any(_is_over(key, name) for key in keys)}
        if any(column.server_default is None for column in new.values()):
            return  # nulls are never equal, and filled-in values may differ by row
        # Every row has the same default in a new column, so compare only the other keys.
        keys = [key for key in keys if not any(_is_over(key, name) for name in new)]
        found = duplicates(self._connection, metadata.tables[operation.table_name], keys, where)
        if found:
            why = (
                f"{operation.index_name} of {operation.table_name} is unique, and {found.number} of its values are in "
                f"several rows, such as {'; '.join(found.examples)}. All are found by: {found.query}. Write the "
                "statement that mends them, or mend them first and delete the line."
            )
            self.notes.append(why)
            yield FillIn(why)

    def _reference(self, operation: ops.CreateForeignKeyOp) -> Iterator[FillIn]:
        found = dangling(
            self._connection,
            sa.table(operation.source_table, *map(sa.column, operation.local_cols)),
            sa.table(operation.referent_table, *map(sa.column, operation.remote_cols)).alias("referred"),
            list(zip(operation.local_cols, operation.remote_cols, strict=True)),
        )
        if found:
            number, query = found
            why = (
                f"{operation.constraint_name} of {operation.source_table} refers to {operation.referent_table}, and "
                f"{_rows(number)} to nothing that is there. All are found by: {query}. Write the statement that mends "
                "them, or mend them first and delete the line."
            )
            self.notes.append(why)
            yield FillIn(why)


def _is_over(key: Any, column: str) -> bool:
    name = getattr(key, "name", None)
    return name == column or re.search(rf'(?<!\w)"?{re.escape(column)}"?(?!\w)', str(name or key)) is not None


def _without_default(operation: ops.AlterColumnOp) -> ops.AlterColumnOp:
    return ops.AlterColumnOp(
        operation.table_name,
        operation.column_name,
        schema=operation.schema,
        existing_type=operation.existing_type,
        existing_server_default=operation.existing_server_default,
        existing_nullable=operation.existing_nullable,
        modify_server_default=None,
    )


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"
