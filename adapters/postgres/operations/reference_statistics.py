"""Statistics that tell the planner that a reference determines the tenant; decision 0204.

PostgreSQL takes columns for independent of each other: of the rows with a category it expects one in 10,000 to be the
tenant's, where there are 10,000 tenants, and all of them are. Then a whole category seems to be one row.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from adapters.postgres.schema.sql import quoted, short_name
from domain.entities.declaration import EntityModel, Registry

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
else:  # generic in its stubs alone
    Connection = asyncpg.Connection

_MADE = """
SELECT c.relname::text AS name, c.reltuples > 0 AS is_known,
    ARRAY(SELECT stxname::text FROM pg_statistic_ext WHERE stxrelid = c.oid) AS made
FROM pg_class c
WHERE c.relname = ANY ($1::text[]) AND pg_table_is_visible(c.oid) AND pg_has_role(c.relowner, 'USAGE')
ORDER BY c.relname"""
_MAKE = "CREATE STATISTICS IF NOT EXISTS %(statistics)s (dependencies) ON tenant_id, %(column)s FROM %(fullname)s"

# what a migration or a VACUUM holds waits for the next round
_PATIENCE = "SET lock_timeout = '1s'"


def statistics_name(table: str, field: str) -> str:
    return short_name("st", table, field)


async def make_statistics(connection: Connection, registry: Registry) -> list[str]:
    """Makes what is missing and returns the tables that the planner knows already: ANALYZE fills their statistics."""
    wanted = {model.table: list(_references(registry, model)) for model in registry}
    await connection.execute(_PATIENCE)
    tables = []
    for row in await connection.fetch(_MADE, [table for table, fields in wanted.items() if fields]):
        missing = [field for field in wanted[row["name"]] if statistics_name(row["name"], field) not in row["made"]]
        with suppress(asyncpg.LockNotAvailableError):
            for field in missing:
                await connection.execute(_statement(row["name"], field))
            if missing and row["is_known"]:
                tables.append(row["name"])
    return tables


def _references(registry: Registry, model: EntityModel) -> Iterator[str]:
    """Fields that refer to rows of the same tenant."""
    for field in model.fields:
        if field.reference is not None and model.tenant_owned and registry[field.reference.target].tenant_owned:
            yield field.name


def _statement(table: str, field: str) -> str:
    named = {"statistics": quoted(statistics_name(table, field)), "column": quoted(field)}
    made = sa.DDL(_MAKE, context=named).against(sa.Table(table, sa.MetaData()))  # type: ignore[no-untyped-call]
    return str(made.compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
