"""Sets aside what a restore replaces, object by object: extensions stay where they are.

Renaming the schema ``public`` would take its extensions along, and their functions belong to a superuser: the owner of
a database may make a trusted extension and may not move it.
"""

from typing import TypeAlias

import asyncpg

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

ASIDE = "tenantry_before_restore"
"""Schema that holds what a restore replaces, until it has succeeded."""
_FAILED = "tenantry_failed_restore"

# Routines come first, for their arguments are told with the schema in which types and tables are at this moment.
# Left out are objects of extensions, and sequences of a column, which follow their table.
_MOVES = """
SELECT 1 AS turn, format('ALTER ROUTINE %I.%I(%s) SET SCHEMA %I', $1::text, proname,
    pg_get_function_identity_arguments(p.oid), $2::text) AS statement
FROM pg_proc p
WHERE pronamespace = $1::text::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
UNION ALL
SELECT 2, format('ALTER %s %I.%I SET SCHEMA %I', CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
        WHEN 'S' THEN 'SEQUENCE' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END,
        $1::text, relname, $2::text)
FROM pg_class c
WHERE relnamespace = $1::text::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
        AND (d.deptype = 'e' OR c.relkind = 'S' AND d.deptype IN ('a', 'i')))
UNION ALL
SELECT 3, format('ALTER TYPE %I.%I SET SCHEMA %I', $1::text, typname, $2::text)
FROM pg_type t
WHERE typnamespace = $1::text::regnamespace AND typtype IN ('d', 'e', 'r')
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_type'::regclass AND objid = t.oid AND deptype = 'e')
UNION ALL
SELECT 4, format('ALTER STATISTICS %I.%I SET SCHEMA %I', $1::text, stxname, $2::text)
FROM pg_statistic_ext WHERE stxnamespace = $1::text::regnamespace
ORDER BY turn"""
_HAS_SEARCH = "SELECT to_regnamespace('tenantry_search') IS NOT NULL"


async def has_search(connection: Connection) -> bool:
    return bool(await connection.fetchval(_HAS_SEARCH))


async def set_aside(connection: Connection, *, with_search: bool) -> None:
    await connection.execute("CREATE SCHEMA tenantry_before_restore")
    await _move(connection, "public", ASIDE)
    if with_search:
        await connection.execute("ALTER SCHEMA tenantry_search RENAME TO tenantry_search_before_restore")


async def put_back(connection: Connection, *, with_search: bool) -> None:
    # A restore that failed after its last statement has left tables of its own.
    await connection.execute("CREATE SCHEMA tenantry_failed_restore")
    await _move(connection, "public", _FAILED)
    await connection.execute("DROP SCHEMA tenantry_failed_restore CASCADE")
    await _move(connection, ASIDE, "public")
    await connection.execute("DROP SCHEMA tenantry_before_restore CASCADE")
    await connection.execute("DROP SCHEMA IF EXISTS tenantry_search CASCADE")
    if with_search:
        await connection.execute("ALTER SCHEMA tenantry_search_before_restore RENAME TO tenantry_search")


async def delete_aside(connection: Connection) -> None:
    await connection.execute("DROP SCHEMA tenantry_before_restore CASCADE")
    await connection.execute("DROP SCHEMA IF EXISTS tenantry_search_before_restore CASCADE")


async def _move(connection: Connection, source: str, target: str) -> None:
    for row in await connection.fetch(_MOVES, source, target):
        await connection.execute(row["statement"])
