"""Operations of migrations beyond tables and columns: role, row-level security, renames, placeholders."""

import inspect
from typing import Any, Literal, NoReturn

import sqlalchemy as sa
from alembic import op
from alembic.autogenerate import renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations.ops import AlterColumnOp, MigrateOperation

from adapters.postgres.migrations.online.histories import move_histories, rename_in_histories
from adapters.postgres.migrations.pending import MigrationRefused
from adapters.postgres.schema import row_security
from adapters.postgres.schema.parts import BY_TABLE, making
from adapters.postgres.schema.sql import ddl, quoted

Renamed = Literal["table", "column", "index", "constraint", "history", "field", "purpose", "holder"]
IN_HISTORIES = frozenset[Renamed]({"history", "field"})
"""Renames in history entries, which have a separate table."""
IN_FILES = frozenset[Renamed]({"purpose", "holder"})
"""Renames in the entries of files: the purpose of a field's files, and the entity that holds them."""

# Some servers lack pg_trgm, and some users may not install it. Searches then are correct but slower.
_TRIGRAMS = """
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX %(index)s ON %(fullname)s USING gin ((%(expression)s) gin_trgm_ops);
EXCEPTION WHEN undefined_file OR feature_not_supported OR insufficient_privilege OR invalid_schema_name THEN
    RAISE NOTICE 'The extension pg_trgm is not available: a search in %(fullname)s reads all its rows.';
END
$$"""

_FILES = sa.table("files", sa.column("entity", sa.Text()), sa.column("purpose", sa.Text()))
_RENAMES: dict[str, str] = {
    "table": "ALTER TABLE %(fullname)s RENAME TO %(new)s",
    "column": "ALTER TABLE %(fullname)s RENAME COLUMN %(old)s TO %(new)s",
    "index": "ALTER INDEX %(old)s RENAME TO %(new)s",
    "constraint": "ALTER TABLE %(fullname)s RENAME CONSTRAINT %(old)s TO %(new)s",
}


def make_service_role() -> None:
    """Create the service's role if the cluster lacks it; let it read the schema's version."""
    op.execute(sa.text(row_security.MAKE_ROLE))
    op.execute(sa.text(row_security.GRANT_SCHEMA))
    op.execute(sa.text(row_security.GRANT_VERSION))


def secure_table(table: str, *, by_tenant: bool) -> None:
    """Grant the service's role access to a new table; with ``by_tenant``, only to rows of the connection's scope."""
    for statement in row_security.grants(table):
        op.execute(statement)
    for statement in row_security.policies(table) if by_tenant else ():
        op.execute(statement)


def make_first_parts(table: str) -> None:
    """Create the first partitions of a new table of ``IN_PARTS``: the next months, and a default partition."""
    op.execute(ddl("CREATE TABLE %(table)s_rest PARTITION OF %(table)s DEFAULT", {"table": table}, table=table))
    op.execute(making(BY_TABLE[table]))


def index_trigrams(index: str, table: str, expression: str) -> None:
    """Index ``expression`` for substring searches, if the server has pg_trgm.

    ``expression`` is SQL: ``index_trigrams("ix_books_search", "books", "lower(title)")``.
    """
    named = {"index": index, "expression": expression}
    op.execute(ddl(_TRIGRAMS, named, table=table))


def fill_in(why: str) -> NoReturn:
    """Mark a place where a person must decide; until then, the migration is refused with ``why``."""
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    place = f"{caller.f_code.co_filename}, line {caller.f_lineno}" if caller is not None else "A migration"
    raise MigrationRefused(
        f"{place} is to be filled in: {why} Put it in place of the call of fill_in, then run: tenantry migrate. To "
        "take the file back, run: tenantry migrations discard"
    )


def keep_values(table: str, column: str, *values: str) -> sa.Executable:
    """Declare that rows retain values that their field's enum lacks, so that later migrations do not report them again.

    ``keep_values("books", "state", "old")`` replaces the statement that would map these values to members. It changes
    no rows.
    """
    assert table, column
    assert values
    return sa.text("SELECT 1")


def rename(kind: Renamed, table: str, old: str, new: str) -> None:
    """Rename a table, or its column, index or constraint: ``rename("column", "books", "code", "sku")``.

    In history entries, ``history`` renames an entity by the names in its path, ``field`` a field by its JSON names. An
    online file processes one day of entries at a time. In the entries of files, ``purpose`` renames the purpose, and
    ``holder`` the entity.
    """
    if kind == "history":
        move_histories(old, new)
    elif kind == "field":
        rename_in_histories(table.replace("_", "-"), old, new)
    elif kind == "purpose":
        op.execute(_purpose(old, new))
    elif kind == "holder":
        op.execute(_holder(old, new))
    else:
        op.execute(rename_statement(kind, table, old, new))


def rename_statement(kind: Renamed, table: str, old: str, new: str) -> sa.ExecutableDDLElement:
    """Return the statement to rename a table or an object of it."""
    return ddl(_RENAMES[kind], {"old": quoted(old), "new": quoted(new)}, table=table)


def _purpose(old: str, new: str) -> sa.Update:
    return sa.update(_FILES).values(purpose=new).where(_FILES.c.purpose == old)


def _holder(old: str, new: str) -> sa.Update:
    purpose, of_entity = _FILES.c.purpose, f"{old}."
    moved = sa.func.concat(f"{new}.", sa.func.substr(purpose, len(of_entity) + 1))
    # A temporary file has no entity yet.
    entity = sa.case((_FILES.c.entity == old, new), else_=_FILES.c.entity)
    return sa.update(_FILES).values(entity=entity, purpose=moved).where(sa.func.starts_with(purpose, of_entity))


class SecureTable(MigrateOperation):
    """Autogenerate operation after each new table; in the migration file it is ``secure_table(…)``."""

    def __init__(self, table: str, *, by_tenant: bool) -> None:
        self.table = table
        self.by_tenant = by_tenant

    def reverse(self) -> MigrateOperation:
        return self  # dropping the table drops its rights and policies

    def to_diff_tuple(self) -> tuple[str, str]:
        return ("secure_table", self.table)


class Rename(MigrateOperation):
    """Operation for ``--rename``; a migration file contains it as ``rename(…)``."""

    def __init__(self, kind: Renamed, table: str, old: str, new: str) -> None:
        self.kind, self.table, self.old, self.new = kind, table, old, new

    def reverse(self) -> MigrateOperation:
        return Rename(self.kind, self.new if self.kind == "table" else self.table, self.new, self.old)

    def to_diff_tuple(self) -> tuple[str, ...]:
        return ("rename", self.kind, self.table, self.old, self.new)


class FillIn(MigrateOperation):
    """Placeholder for a statement that a person must write, in its place among the others."""

    def __init__(self, why: str) -> None:
        self.why = why

    def reverse(self) -> MigrateOperation:
        return self  # omitted from a downgrade: mended values remain

    def to_diff_tuple(self) -> tuple[str, str]:
        return ("fill_in", self.why)


class FillInDefault(sa.DefaultClause):
    """Default of a new required column for existing rows, chosen by a person."""

    def __init__(self, why: str) -> None:
        super().__init__(sa.text("NULL"))
        self.why = why


class ConvertColumn(AlterColumnOp):
    """Type change of a column with ``USING``: an expression, or the reason why a person must write it."""

    def __init__(self, table_name: str, column_name: str, **kw: Any) -> None:
        self.using: str | None = kw.pop("using", None)
        self.why: str | None = kw.pop("why", None)
        super().__init__(table_name, column_name, **kw)


def converted(operation: AlterColumnOp, *, using: str | None = None, why: str | None = None) -> ConvertColumn:
    """Return the change of a type with ``using``, or with the reason why a person must write it."""
    return ConvertColumn(
        operation.table_name,
        operation.column_name,
        using=using,
        why=why,
        schema=operation.schema,
        existing_type=operation.existing_type,
        existing_server_default=operation.existing_server_default,
        existing_nullable=operation.existing_nullable,
        modify_nullable=operation.modify_nullable,
        modify_type=operation.modify_type,
    )


@renderers.dispatch_for(SecureTable)
def _render(context: AutogenContext, operation: SecureTable) -> str:
    context.imports.add("from tenantry.migrations import secure_table")
    return f'secure_table("{operation.table}", by_tenant={operation.by_tenant})'


@renderers.dispatch_for(Rename)
def _render_rename(context: AutogenContext, operation: Rename) -> str:
    context.imports.add("from tenantry.migrations import rename")
    return f"rename({operation.kind!r}, {operation.table!r}, {operation.old!r}, {operation.new!r})"


@renderers.dispatch_for(FillIn)
def _render_fill_in(context: AutogenContext, operation: FillIn) -> str:
    return f"op.execute({called_fill_in(context, operation.why)})"


@renderers.dispatch_for(ConvertColumn)
def _render_conversion(context: AutogenContext, operation: ConvertColumn) -> str:
    plain: str = renderers.dispatch(AlterColumnOp("", ""))(context, operation)
    if operation.why is None and operation.using is None:
        return plain
    using = called_fill_in(context, operation.why) if operation.why else repr(operation.using)
    return f"{plain.removesuffix(')')},\n           postgresql_using={using})"


def called_fill_in(context: AutogenContext, why: str) -> str:
    context.imports.add("from tenantry.migrations import fill_in")
    return f"fill_in({why!r})"
