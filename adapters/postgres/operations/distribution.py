"""Distribution of the tables over the nodes of a Citus cluster, after the migrations."""

from collections.abc import Sequence

import asyncpg

from adapters.postgres.connection.connecting import OF_CLUSTER, connected
from adapters.postgres.schema.citus import DONE, SETTING_UP, placement, statements
from adapters.postgres.schema.row_security import EVERY, ROLE
from domain.entities.declaration import Registry

_HAS_CITUS = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
_KEYS = "SELECT conname::text AS name FROM pg_constraint WHERE contype = 'f'"
_NODES = "SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards"
_MAY_LOG_IN = "SELECT rolcanlogin FROM pg_roles WHERE rolname = $1"
_LOCK = "SELECT pg_advisory_lock(hashtextextended('tenantry.migrations', 0))"


async def distribute(url: str, registry: Registry) -> list[str]:
    """Distribute or copy the tables that are on the coordinator alone; return their names.

    Raises asyncpg.PostgresError where the server has no Citus, or the owner may not use it.
    """
    settings = {"tenantry.scope": EVERY, **OF_CLUSTER}
    async with connected(url, statement_cache_size=0) as connection:
        await connection.execute(SETTING_UP[0])
    # A session that creates the extension does not know its settings yet.
    async with connected(url, server_settings=settings, statement_cache_size=0) as connection:
        await connection.execute(_LOCK)
        if not await connection.fetchval(_MAY_LOG_IN, ROLE):
            await connection.execute(SETTING_UP[1])
        missing = _missing(await _done(connection), registry)
        async with connection.transaction():
            await connection.execute("SET LOCAL tenantry.scope = 'every'")
            # Citus refuses several statements in one message.
            keys = [row["name"] for row in await connection.fetch(_KEYS)]
            for statement in statements(registry, await _done(connection), keys):
                await connection.execute(statement)
    return missing


async def distribution_mistakes(url: str, registry: Registry) -> list[str]:
    """Return sentences about what a cluster lacks to serve; none for a server with what it needs."""
    async with connected(url, statement_cache_size=0) as connection:
        if not await connection.fetchval(_HAS_CITUS):
            return ["The server has no Citus. Run: tenantry migrate"]
        found = [
            f"{name} is on the coordinator alone. Run: tenantry migrate"
            for name in _missing(await _done(connection), registry)
        ]
        if not await connection.fetchval(_MAY_LOG_IN, ROLE):
            found.append(
                f"The role {ROLE} may not log in, so the coordinator cannot reach the nodes. Run: tenantry migrate"
            )
        if not await connection.fetchval(_NODES):
            found.append("The cluster has no node for rows: add one by citus_add_node.")
        return found


async def is_distributed(url: str) -> bool:
    """Return whether Citus has distributed tables of the database."""
    async with connected(url, statement_cache_size=0) as connection:
        return bool(await connection.fetchval(_HAS_CITUS)) and bool(await _done(connection))


async def _done(connection: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    return [row["name"] for row in await connection.fetch(DONE)]


def _missing(done: Sequence[str], registry: Registry) -> list[str]:
    placed = placement(registry)
    return [name for name in (*placed.shared, *placed.distributed) if name not in done]
