"""Startup check, in one statement, for tables without the row-level security and rights that migrations set up."""

from collections.abc import Iterator

import asyncpg

from adapters.postgres.connection.connecting import connected
from adapters.postgres.schema.links import tables_of
from adapters.postgres.schema.row_security import ROLE, rights_on
from adapters.postgres.schema.row_security_check import WITHOUT
from domain.entities.declaration import Registry
from domain.parts.composition import TABLES

SERVICE_TABLES = tuple(sorted(TABLES))  # only names: importing the schema would slow the start

_ASKED = """
SELECT c.relname::text AS name, to_regrole('tenantry_service') IS NULL AS lacks_role,
    EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant_id' AND NOT attisdropped)
        AND NOT (
            relrowsecurity AND relforcerowsecurity
            AND EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polname = 'tenant_rows')
        ) AS is_open,
    ARRAY(
        SELECT word FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS word
        WHERE coalesce(has_table_privilege(to_regrole('tenantry_service'), c.oid, word), false)
    ) AS allowed
FROM pg_class c
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname = ANY ($1)
ORDER BY relname"""


async def guard_warnings(url: str, registry: Registry) -> list[str]:
    """Return sentences about disabled row-level security and missing rights. Raises ServiceUnavailable.

    `tenantry check` compares more, such as policy texts, but needs Alembic and a second.
    """
    tables = [*SERVICE_TABLES, *(name for model in registry.stored for name in tables_of(model))]
    async with connected(url) as connection:
        rows = await connection.fetch(_ASKED, tables)
    return list(_sentences(rows))


def _sentences(rows: "list[asyncpg.Record]") -> Iterator[str]:
    if names := [row["name"] for row in rows if row["is_open"] and row["name"] not in WITHOUT]:
        yield (
            f"Row-level security of {', '.join(names)} is off, or lacks its policy: rows of other tenants may be shown."
            " `tenantry migrations check` names the statements that end it."
        )
    if any(row["lacks_role"] for row in rows):
        yield f"The server does not have the role {ROLE}: run `tenantry migrate` to create it."
    elif names := [row["name"] for row in rows if set(rights_on(row["name"])) - set(row["allowed"])]:
        yield f"The role {ROLE} lacks rights on {', '.join(names)}: run `tenantry migrate`, which grants them."
