"""Operations of migrations beyond tables and columns: the service's role, row-level security, trigram indexes."""

import sqlalchemy as sa
from alembic import op
from alembic.autogenerate import renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations.ops import MigrateOperation

from adapters.postgres.schema import row_security

# Not every server offers pg_trgm, nor every user may install it. Searches are right without the index, but slower.
_TRIGRAMS = """
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX %(index)s ON %(fullname)s USING gin ((%(expression)s) gin_trgm_ops);
EXCEPTION WHEN undefined_file OR feature_not_supported OR insufficient_privilege OR invalid_schema_name THEN
    RAISE NOTICE 'The extension pg_trgm is not available: a search in %(fullname)s reads all its rows.';
END
$$"""


def make_service_role() -> None:
    """Makes the role that the service runs as, where the cluster has none, and lets it read the schema's version."""
    op.execute(sa.text(row_security.MAKE_ROLE))
    op.execute(sa.text(row_security.GRANT_SCHEMA))
    op.execute(sa.text(row_security.GRANT_VERSION))


def secure_table(table: str, *, by_tenant: bool) -> None:
    """Opens a new table to the service's role; with ``by_tenant``, for the rows of its connection's scope alone."""
    for statement in row_security.grants(table):
        op.execute(statement)
    for statement in row_security.policies(table) if by_tenant else ():
        op.execute(statement)


def index_trigrams(index: str, table: str, expression: str) -> None:
    """Indexes ``expression`` for searches by parts of words, where the server has pg_trgm.

    ``expression`` is SQL: ``index_trigrams("ix_books_search", "books", "lower(title)")``.
    """
    named = {"index": index, "expression": expression}
    statement = sa.DDL(_TRIGRAMS, context=named)  # type: ignore[no-untyped-call]
    op.execute(statement.against(sa.Table(table, sa.MetaData())))


class SecureTable(MigrateOperation):
    """Operation that autogenerate puts after each new table; in the migration's file it is ``secure_table(…)``."""

    def __init__(self, table: str, *, by_tenant: bool) -> None:
        self.table = table
        self.by_tenant = by_tenant

    def reverse(self) -> MigrateOperation:
        return self  # nothing to take back: the table goes with its rights and policies

    def to_diff_tuple(self) -> tuple[str, str]:
        return ("secure_table", self.table)


@renderers.dispatch_for(SecureTable)
def _render(context: AutogenContext, operation: SecureTable) -> str:
    context.imports.add("from tenantry.migrations import secure_table")
    return f'secure_table("{operation.table}", by_tenant={operation.by_tenant})'
