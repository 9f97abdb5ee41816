"""Locks of a written migration, and its second file, applied online."""

from collections.abc import Iterator
from typing import Any

from alembic.autogenerate import renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations import ops

from adapters.postgres.migrations.online.operations import Online
from adapters.postgres.migrations.online.search_indexes import IndexSearch
from adapters.postgres.migrations.operations import IN_FILES, IN_HISTORIES, FillIn, Rename
from adapters.postgres.migrations.switches import EnsureNoneDeleted
from adapters.postgres.schema.search import search_index_name

ONLINE_MESSAGE = ", beside reads and writes"
"""End of the second file's message."""

_NOBODY = "nobody waits, but for a moment"


def split(operations: list[Any]) -> tuple[list[Any], list[Any]]:
    """Split operations into those of one transaction and those applied one by one afterwards.

    Operations on new tables stay in the transaction, because these have no rows. An index that replaces one of the same
    name also stays, so that one always exists.
    """
    together: list[Any] = []
    after: list[Any] = []
    made = {operation.table_name for operation in operations if isinstance(operation, ops.CreateTableOp)}
    for operation in operations:
        if isinstance(operation, ops.ModifyTableOps) and operation.table_name not in made:
            replaced = {str(inside.index_name) for inside in operation.ops if isinstance(inside, ops.DropIndexOp)}
            late: list[Any] = [inside for inside in operation.ops if _is_late(inside, replaced)]
            stays = [inside for inside in operation.ops if inside not in late]
            together += [ops.ModifyTableOps(operation.table_name, stays)] if stays else []
            after += [ops.ModifyTableOps(operation.table_name, [Online(inside) for inside in late])] if late else []
        elif _is_alone(operation, made):
            after.append(operation)
        else:
            together.append(operation)
    return together, after


def _is_alone(operation: Any, made: set[str]) -> bool:
    if isinstance(operation, IndexSearch):
        return operation.table not in made and not operation.is_early
    return isinstance(operation, Rename) and operation.kind in IN_HISTORIES


def _is_late(operation: Any, replaced: set[str]) -> bool:
    if isinstance(operation, ops.CreateIndexOp):
        return str(operation.index_name) not in replaced
    is_required = isinstance(operation, ops.AlterColumnOp) and operation.modify_nullable is False
    return isinstance(operation, ops.CreateForeignKeyOp) or (is_required and operation.modify_type is None)


class Locks(ops.MigrateOperation):
    """Comment at the head of a file: locked tables, blocked users, and duration."""

    def __init__(self, operations: list[Any], *, is_beside: bool) -> None:
        self.sentences = list(dict.fromkeys(_sentences(operations)))
        self.head = "# Locks, beside reads and writes:" if is_beside else "# Locks:"
        """The first line, by which the template recognizes an online file."""

    def reverse(self) -> ops.MigrateOperation:
        return self

    def to_diff_tuple(self) -> tuple[str, ...]:
        return ("locks", *self.sentences)


@renderers.dispatch_for(Locks)
def _render(_: AutogenContext, operation: Locks) -> list[str]:
    return [operation.head, *(f"# - {sentence}" for sentence in operation.sentences)]


def _sentences(operations: list[Any]) -> Iterator[str]:
    made = {operation.table_name for operation in operations if isinstance(operation, ops.CreateTableOp)}
    for operation in operations:
        if isinstance(operation, ops.ModifyTableOps):
            if operation.table_name in made:
                continue
            yield from (f"{operation.table_name}: {_sentence(inside)}" for inside in operation.ops)
        elif isinstance(operation, ops.CreateTableOp):
            yield f"{operation.table_name} is new: writes to the tables that it refers to wait for a moment"
        elif isinstance(operation, ops.CreateForeignKeyOp):
            yield f"{operation.source_table}, {operation.referent_table}: {_sentence(operation)}"
        elif isinstance(operation, IndexSearch) and operation.table not in made:
            yield f"{operation.table}: {_indexed(operation)}"
        elif isinstance(operation, Rename | EnsureNoneDeleted):
            yield _first(operation)


def _indexed(operation: IndexSearch) -> str:
    index, what = search_index_name(operation.table), "built" if operation.fields else "dropped"
    if operation.is_early:
        return f"reads and writes wait while the index {index} is {what}"
    return f"{_NOBODY}: the index {index} is {what} CONCURRENTLY"


def _sentence(operation: Any) -> str:
    match operation:
        case Online():
            said = _online(operation.plain)
        case ops.AddColumnOp():
            said = _added(operation)
        case ops.AlterColumnOp():
            said = _altered(operation)
        case ops.CreateIndexOp():
            said = f"writes wait while the index {operation.index_name} is built"
        case ops.CreateForeignKeyOp():
            said = f"writes to both wait while all rows are compared: {operation.constraint_name}"
        case FillIn():
            said = "rows that the statement changes are locked until all of the file is applied"
        case _:
            said = "reads and writes wait for a moment"
    return said


def _first(operation: Rename | EnsureNoneDeleted) -> str:
    """Sentence about an operation before all changes."""
    if isinstance(operation, EnsureNoneDeleted):
        return f"{operation.table}: writes wait until all is applied, from the moment in which deleted rows are counted"
    return _renamed(operation)


def _renamed(operation: Rename) -> str:
    table, old, new = operation.table, operation.old, operation.new
    if operation.kind == "history":
        return f"row_history: nobody waits: lines of {old} become lines of {new}, a day at a time"
    if operation.kind == "field":
        return (
            f"row_history: nobody waits: what lines of {table} tell of {old} they tell of {new}, a day at a time; a "
            f"JSON name that was given by hand belongs in the place of {old}"
        )
    if operation.kind in IN_FILES:
        return f"files: writes to the files of {old} wait until all of the file is applied: they become files of {new}"
    return f"{table}: reads and writes wait for a moment: the {operation.kind} {old} is renamed"


def _added(operation: ops.AddColumnOp) -> str:
    if operation.column.computed is not None:
        return f"reads and writes wait while all rows are written anew, with {operation.column.name}"
    return f"reads and writes wait for a moment: the column {operation.column.name} is added"


def _altered(operation: ops.AlterColumnOp) -> str:
    if operation.modify_type is not None:
        return f"reads and writes wait while {operation.column_name} gets another type: all rows may be written anew"
    if operation.modify_nullable is False:
        return f"reads and writes wait while all rows are read: {operation.column_name} becomes required"
    return f"reads and writes wait for a moment: {operation.column_name} changes"


def _online(plain: Any) -> str:
    if isinstance(plain, ops.CreateIndexOp):
        return f"{_NOBODY}: the index {plain.index_name} is built CONCURRENTLY"
    if isinstance(plain, ops.AlterColumnOp):
        return f"{_NOBODY}: all rows are compared before {plain.column_name} becomes required"
    return f"{_NOBODY}, here and in {plain.referent_table}: {plain.constraint_name} is compared with all rows"
