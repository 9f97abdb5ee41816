"""Fields with an index for searches."""

from collections.abc import Iterator

from adapters.postgres.connection.connecting import connected
from adapters.postgres.connection.connections import Connection
from adapters.postgres.schema.search import search_function_name, search_index_name
from domain.entities.declaration import EntityModel, Registry

_MADE = """
SELECT
    ARRAY(
        SELECT proname::text FROM pg_proc WHERE pronamespace = to_regnamespace('tenantry_search')
    ) AS functions,
    ARRAY(
        SELECT relname::text FROM pg_index JOIN pg_class ON oid = indexrelid
        WHERE indisvalid AND relname ~ '^ix_.*_search$' AND pg_table_is_visible(oid)
    ) AS indexes"""

_GRANT = """
SELECT format('GRANT tenantry_search TO %I', current_user)
WHERE to_regrole('tenantry_search') IS NOT NULL AND NOT pg_has_role(to_regrole('tenantry_search'), 'MEMBER')"""


async def searches_found(connection: Connection, registry: Registry) -> frozenset[tuple[str, str]]:
    """Return the pairs of table and field, of tenant-owned entities, that a search index covers."""
    row = await connection.fetchrow(_MADE)
    assert row is not None
    functions, indexes = set(row["functions"]), set(row["indexes"])
    return frozenset(
        (model.table, field)
        for model, field in _searched(registry)
        if search_index_name(model.table) in indexes and search_function_name(model.table, field) in functions
    )


async def searches_missed(url: str, registry: Registry) -> list[str]:
    """Return search fields without an index: ``["products.name"]``. Raises ServiceUnavailable."""
    async with connected(url) as connection:
        found = await searches_found(connection, registry)
    every = ((model.table, field) for model, field in _searched(registry))
    return [f"{table}.{field}" for table, field in every if (table, field) not in found]


async def search_remedy(url: str) -> str:
    """Return the steps needed before a migration can create search indexes. Raises ServiceUnavailable."""
    async with connected(url) as connection:
        # The owner of another database on this server created the role, so a superuser must grant it.
        statement = await connection.fetchval(_GRANT)
    if statement is None:
        return "Let the server have the extensions pg_trgm and btree_gin"
    return f"Let a superuser run: {statement}"


def _searched(registry: Registry) -> Iterator[tuple[EntityModel, str]]:
    # Only tenant-owned entities: shared rows have no row-level security, so the planner uses their index without help.
    return ((model, field) for model in registry if model.tenant_owned for field in model.indexed_search)
