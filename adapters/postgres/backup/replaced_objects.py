"""Moves the objects that a restore replaces into another schema, one by one. Extensions remain.

To rename the schema ``public`` would also move its extensions. A database owner may create a trusted extension, but may
not move it, because a superuser owns its functions.
"""

from enum import Enum

from adapters.postgres.connection.connections import Connection

ASIDE = "tenantry_before_restore"
"""Schema for the replaced objects, until the restore has succeeded."""
_FAILED = "tenantry_failed_restore"

# Move routines first, because their arguments name types and tables with the old schema. Skip objects of extensions,
# and sequences of columns, because these move with their table.
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
# The search schema left by an interrupted cleanup would block the next restore.
_SET_SEARCH_ASIDE = """
DROP SCHEMA IF EXISTS tenantry_search_before_restore CASCADE;
DO $$ BEGIN
    IF to_regnamespace('tenantry_search') IS NOT NULL THEN
        ALTER SCHEMA tenantry_search RENAME TO tenantry_search_before_restore;
    END IF;
END $$"""
_PUT_SEARCH_BACK = """
DROP SCHEMA IF EXISTS tenantry_search CASCADE;
DO $$ BEGIN
    IF to_regnamespace('tenantry_search_before_restore') IS NOT NULL THEN
        ALTER SCHEMA tenantry_search_before_restore RENAME TO tenantry_search;
    END IF;
END $$"""
_LEFT = """
SELECT to_regnamespace('tenantry_before_restore') IS NOT NULL AS is_aside,
    to_regclass('public.alembic_version') IS NOT NULL AS is_filled"""


class Left(Enum):
    """Remainder of a replacing restore in a database.

    During a restore the state is ``EMPTY``, then briefly ``FILLED`` until the old objects are deleted.
    """

    NOTHING = "nothing"
    EMPTY = "empty"
    FILLED = "filled"

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Left.NOTHING: "No restore was broken off here.",
    Left.EMPTY: (
        f"A restore is under way, or was broken off before its end: what it replaces is kept in the schema {ASIDE}."
        " Where none runs, `tenantry restore --undo` puts it back, and `tenantry restore FOLDER --replace` begins anew."
    ),
    Left.FILLED: (
        f"A restore was broken off: what it replaces is still kept in the schema {ASIDE}, beside the tables that are"
        " there now. `tenantry restore --finish` keeps those of now and deletes what was there before;"
        " `tenantry restore --undo` puts back what was there before and deletes those of now."
    ),
}


async def left_by_restore(connection: Connection) -> Left:
    row = await connection.fetchrow(_LEFT)
    assert row is not None
    if not row["is_aside"]:
        return Left.NOTHING
    return Left.FILLED if row["is_filled"] else Left.EMPTY


async def set_aside(connection: Connection) -> None:
    async with connection.transaction():
        await connection.execute("CREATE SCHEMA tenantry_before_restore")
        await _move(connection, "public", ASIDE)
        await connection.execute(_SET_SEARCH_ASIDE)


async def put_back(connection: Connection) -> None:
    async with connection.transaction():
        # Remove the new tables: a restore that failed after its last statement has left them.
        await connection.execute("CREATE SCHEMA tenantry_failed_restore")
        await _move(connection, "public", _FAILED)
        await connection.execute("DROP SCHEMA tenantry_failed_restore CASCADE")
        await _move(connection, ASIDE, "public")
        await connection.execute("DROP SCHEMA tenantry_before_restore CASCADE")
        await connection.execute(_PUT_SEARCH_BACK)


async def delete_aside(connection: Connection) -> None:
    async with connection.transaction():
        await connection.execute("DROP SCHEMA tenantry_before_restore CASCADE")
        await connection.execute("DROP SCHEMA IF EXISTS tenantry_search_before_restore CASCADE")


async def _move(connection: Connection, source: str, target: str) -> None:
    for row in await connection.fetch(_MOVES, source, target):
        await connection.execute(row["statement"])
