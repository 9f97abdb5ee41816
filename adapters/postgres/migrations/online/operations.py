"""Online operations: indexes, foreign keys and NOT NULL on tables in use.

Each operation is several short statements and can be repeated after a failure. None locks a table longer than a moment.
A transaction would hold its locks until its end, and cannot build an index ``CONCURRENTLY``. In a transaction, and
while another migration is written, Alembic's own operations apply.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from alembic import op
from alembic.autogenerate import renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations.ops import AlterColumnOp, CreateForeignKeyOp, CreateIndexOp, MigrateOperation
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from adapters.postgres.schema.sql import quoted

ONLINE = "online"
"""Key in Alembic's attributes: whether each statement of the file is a separate transaction."""
_INDEXES = sa.table("pg_index", sa.column("indexrelid"), sa.column("indisvalid", sa.Boolean()))
_CONSTRAINTS = sa.table(
    "pg_constraint", sa.column("conrelid"), sa.column("conname"), sa.column("convalidated", sa.Boolean())
)


def create_index_online(name: str, table: str, columns: Sequence[Any], **options: Any) -> None:
    """Build an index ``CONCURRENTLY``, as ``op.create_index`` does; first drop one left by a failure."""
    if not is_online():
        op.create_index(name, table, columns, **options)
        return
    with by_itself():
        is_broken = sa.select(sa.not_(_INDEXES.c.indisvalid)).where(_INDEXES.c.indexrelid == _known(name))
        if _answer(is_broken):
            op.drop_index(name, table, postgresql_concurrently=True)
        op.create_index(name, table, columns, if_not_exists=True, postgresql_concurrently=True, **options)


def create_foreign_key_online(
    name: str, source: str, referent: str, local: list[str], remote: list[str], **options: Any
) -> None:
    """Create a foreign key that at once applies to writes, then validate all rows."""
    if not is_online():
        op.create_foreign_key(name, source, referent, local, remote, **options)
        return
    state = _constraint(source, name)
    if state is None:
        op.create_foreign_key(name, source, referent, local, remote, postgresql_not_valid=True, **options)
    if not state:
        _validate(source, name)


def set_not_null_online(table: str, column: str) -> None:
    """Set ``NOT NULL`` on a column: apply it to writes at once, then validate the existing rows."""
    if not is_online():
        op.alter_column(table, column, nullable=False)
        return
    check = check_of(column)
    state = _constraint(table, check)
    if state is None:
        op.create_check_constraint(check, table, sa.column(column).is_not(None), postgresql_not_valid=True)
    if not state:
        try:
            _validate(table, check)
        except IntegrityError:
            # Drop the constraint, so that the failed migration does not leave it; if the table is in use, it remains.
            with suppress(SQLAlchemyError):
                op.drop_constraint(check, table)
            raise
    # The constraint proves that no row has a null, so PostgreSQL reads no rows.
    op.alter_column(table, column, nullable=False)
    op.drop_constraint(check, table)


def check_of(column: str) -> str:
    """Return the name of the check that precedes ``NOT NULL``; it remains if the process stops before the end."""
    return f"{column[:54]}_is_set"


def is_online() -> bool:
    context = op.get_context()
    return context.as_sql or (context.config is not None and bool(context.config.attributes.get(ONLINE)))


def _constraint(table: str, name: str) -> bool | None:
    """Return whether the constraint is validated; None if the table does not have it."""
    named = (_CONSTRAINTS.c.conrelid == _known(table), _CONSTRAINTS.c.conname == name)
    found = _answer(sa.select(_CONSTRAINTS.c.convalidated).where(*named))
    return None if found is None else bool(found)


def _validate(table: str, name: str) -> None:
    with by_itself():
        statement = f"ALTER TABLE {quoted(table)} VALIDATE CONSTRAINT {quoted(name)}"
        op.execute(statement)


@contextmanager
def by_itself() -> Iterator[None]:
    """Run a statement outside a transaction, without a lock timeout, because no process waits behind it."""
    context = op.get_context()
    if context.as_sql:
        context.impl.emit_commit()
        yield
        context.impl.emit_begin()
        return
    before = op.get_bind().execute(sa.text("SHOW lock_timeout")).scalar_one()
    _wait_for_locks("0")
    try:
        yield
    except BaseException:
        # On a lost connection, the original error reports the loss.
        with suppress(SQLAlchemyError):
            _wait_for_locks(before)
        raise
    _wait_for_locks(before)


def _wait_for_locks(limit: str) -> None:
    op.get_bind().execute(sa.select(sa.func.set_config("lock_timeout", limit, False)))


def _answer(statement: sa.Select[Any]) -> Any:
    """Return the first value; None for printed SQL, because it assumes a database without earlier failures."""
    return None if op.get_context().as_sql else op.get_bind().execute(statement).scalar()


def _known(name: str) -> sa.ColumnElement[Any]:
    return sa.func.to_regclass(quoted(name))


class Online(MigrateOperation):
    """Autogenerate operation in an online file."""

    def __init__(self, plain: CreateIndexOp | CreateForeignKeyOp | AlterColumnOp) -> None:
        self.plain = plain

    def reverse(self) -> MigrateOperation:
        return self.plain.reverse()

    def to_diff_tuple(self) -> Any:
        return self.plain.to_diff_tuple()


@renderers.dispatch_for(Online)
def _render(context: AutogenContext, operation: Online) -> str:
    plain = operation.plain
    if isinstance(plain, AlterColumnOp):
        context.imports.add("from tenantry.migrations import set_not_null_online")
        return f"set_not_null_online({plain.table_name!r}, {plain.column_name!r})"
    name = "create_index" if isinstance(plain, CreateIndexOp) else "create_foreign_key"
    context.imports.add(f"from tenantry.migrations import {name}_online")
    rendered = renderers.dispatch(plain)(context, plain)
    assert isinstance(rendered, str)
    return rendered.replace(f"op.{name}(", f"{name}_online(", 1)
