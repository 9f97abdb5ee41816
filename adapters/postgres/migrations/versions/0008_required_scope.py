"""Policies that raise where no scope is set, of the service's tables and those of the project."""

from alembic import op

from adapters.postgres.schema.row_security import SEES, SEES_ALL, SEES_ON_NODE
from adapters.postgres.schema.sql import ddl

revision = "0008"
down_revision = "0007"

# Partitions have copies of the policies. Citus allows no subqueries in policies.
_REQUIRE = """
DO $$
DECLARE
    policy record;
    sees text;
BEGIN
    FOR policy IN
        SELECT polname AS name, polrelid::regclass AS of_table, polcmd = 'a' AS is_of_insert,
            pg_get_expr(coalesce(polqual, polwithcheck), polrelid) AS condition
        FROM pg_policy JOIN pg_class AS c ON c.oid = polrelid
        WHERE c.relnamespace = 'public'::regnamespace
            AND (polname = 'tenant_rows' OR polname LIKE 'every\\_%%')
            AND pg_get_expr(coalesce(polqual, polwithcheck), polrelid) LIKE '%%''tenantry.scope''::text, true)%%'
        ORDER BY c.relname, polname
    LOOP
        IF policy.name = 'tenant_rows' THEN
            sees := CASE WHEN policy.condition LIKE '%%SELECT%%' THEN $c$%(sees)s$c$ ELSE $c$%(sees_on_node)s$c$ END;
            EXECUTE format('ALTER POLICY tenant_rows ON %%s USING (%%s) WITH CHECK (%%2$s)', policy.of_table, sees);
        ELSIF policy.is_of_insert THEN
            EXECUTE format('ALTER POLICY %%I ON %%s WITH CHECK (%%s)', policy.name, policy.of_table, $c$%(sees_all)s$c$);
        ELSE
            EXECUTE format('ALTER POLICY %%I ON %%s USING (%%s)', policy.name, policy.of_table, $c$%(sees_all)s$c$);
        END IF;
    END LOOP;
END
$$"""


def upgrade() -> None:
    op.execute(ddl(_REQUIRE, {"sees": SEES, "sees_on_node": SEES_ON_NODE, "sees_all": SEES_ALL}))


def downgrade() -> None:
    pass  # earlier versions set the scope as well
