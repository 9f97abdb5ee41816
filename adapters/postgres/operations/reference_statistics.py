"""Statistics that show the planner that a reference determines the tenant; decision 0019.

PostgreSQL assumes independent columns. With 10,000 tenants it expects one in 10,000 rows of a category to be the
tenant's, but all of them are. So it estimates one row for a whole category.
"""

from collections.abc import Iterator
from contextlib import suppress

import asyncpg

from adapters.postgres.connection.connections import Connection
from adapters.postgres.schema.sql import on_table, quoted, short_name
from domain.entities.declaration import EntityModel, Registry

_MADE = """
SELECT c.relname::text AS name, c.reltuples > 0 AS is_analyzed,
    ARRAY(SELECT stxname::text FROM pg_statistic_ext WHERE stxrelid = c.oid) AS made
FROM pg_class c
WHERE c.relname = ANY ($1::text[]) AND pg_table_is_visible(c.oid) AND pg_has_role(c.relowner, 'USAGE')
ORDER BY c.relname"""
# SKIP_LOCKED: a table locked by a migration or other maintenance waits for the next round.
ANALYZE = "ANALYZE (SKIP_LOCKED) %(fullname)s"
_MAKE = "CREATE STATISTICS IF NOT EXISTS %(statistics)s (dependencies) ON tenant_id, %(column)s FROM %(fullname)s"

_PATIENCE = "SET lock_timeout = '1s'"

_NEXT_ROUND = (asyncpg.LockNotAvailableError, asyncpg.UndefinedColumnError, asyncpg.InsufficientPrivilegeError)
"""Temporary failures, retried in the next round: a table locked by a migration, a column renamed by another version, a
schema without CREATE for the owner.
"""


def statistics_name(table: str, field: str) -> str:
    """Return the name of a reference's statistics.

    The two underscores distinguish ``order`` and ``line_item_id`` from ``order_line`` and ``item_id``.
    """
    return short_name("st", table, "", field)


async def make_statistics(connection: Connection, registry: Registry) -> list[str]:
    """Create missing statistics, fill them for tables analysed before, and return the filled tables."""
    wanted = {model.table: list(_references(registry, model)) for model in registry.stored}
    await connection.execute(_PATIENCE)
    filled = []
    for row in await connection.fetch(_MADE, [table for table, fields in wanted.items() if fields]):
        table: str = row["name"]
        missing = [field for field in wanted[table] if statistics_name(table, field) not in row["made"]]
        with suppress(*_NEXT_ROUND):
            # One transaction, so that a lock does not leave some statistics empty.
            async with connection.transaction():
                for field in missing:
                    names = {"statistics": quoted(statistics_name(table, field)), "column": quoted(field)}
                    await connection.execute(on_table(table, _MAKE, **names))
                if missing and row["is_analyzed"]:
                    await connection.execute(on_table(table, ANALYZE))
                    filled.append(table)
    return filled


def _references(registry: Registry, model: EntityModel) -> Iterator[str]:
    for field in model.fields:
        if field.reference is not None and model.tenant_owned and registry[field.reference.target].tenant_owned:
            yield field.name
