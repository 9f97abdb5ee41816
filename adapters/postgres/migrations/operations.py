"""What a migration does beyond tables and columns."""

from alembic import op
from alembic.autogenerate import renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations.ops import MigrateOperation

from adapters.postgres.schema import row_security

TRIGRAMS = """
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX {index} ON {table} USING gin (({expression}) gin_trgm_ops);
EXCEPTION WHEN undefined_file OR feature_not_supported OR insufficient_privilege OR invalid_schema_name THEN
    RAISE NOTICE 'pg_trgm is not to be had: searching % reads all its rows.', '{table}';
END
$$"""


def make_service_role() -> None:
    op.execute(row_security.role())
    op.execute(f"GRANT USAGE ON SCHEMA public TO {row_security.ROLE}")
    op.execute(f"GRANT SELECT ON alembic_version TO {row_security.ROLE}")


def secure_table(table: str, *, by_tenant: bool) -> None:
    """Opens a new table to the service's role; ``by_tenant``: only the rows of its connection's scope."""
    for statement in row_security.grants(table):
        op.execute(statement)
    for statement in row_security.policies(table) if by_tenant else ():
        op.execute(statement)


def index_trigrams(index: str, table: str, expression: str) -> None:
    """Serves searches where the server has pg_trgm; they are right without it."""
    op.execute(TRIGRAMS.format(index=index, table=table, expression=expression))


class SecureTable(MigrateOperation):
    """Follows each table that autogenerate makes, and is written into the migration's file."""

    def __init__(self, table: str, *, by_tenant: bool) -> None:
        self.table = table
        self.by_tenant = by_tenant

    def reverse(self) -> MigrateOperation:
        return self

    def to_diff_tuple(self) -> tuple[str, str]:
        return ("secure_table", self.table)


@renderers.dispatch_for(SecureTable)
def _render(context: AutogenContext, operation: SecureTable) -> str:
    context.imports.add("from tenantry.migrations import secure_table")
    return f'secure_table("{operation.table}", by_tenant={operation.by_tenant})'
