"""What an operator should know of a PostgreSQL server."""

from datetime import datetime

import asyncpg
from msgspec import Struct

from adapters.postgres.connection.failures import translated

_ASKED = """
SELECT current_setting('server_version') AS version, current_setting('max_connections')::int AS most_connections,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS connections,
    clock_timestamp() AS now, current_setting('fsync') = 'on' AS is_durable"""


class DatabaseFacts(Struct, frozen=True):
    """``most_connections`` is the server's limit, ``now`` the time of its clock."""

    version: str
    most_connections: int
    connections: int
    now: datetime
    is_durable: bool


async def database_facts(url: str) -> DatabaseFacts:
    """Raises ServiceUnavailable while the database is away."""
    with translated():
        connection = await asyncpg.connect(url, timeout=5)
        try:
            row = await connection.fetchrow(_ASKED)
        finally:
            await connection.close()
    assert row is not None
    return DatabaseFacts(**dict(row))
