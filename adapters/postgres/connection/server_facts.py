"""Facts of a PostgreSQL server that an operator should know."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from adapters.postgres.connection.connecting import connected

_ASKED = """
SELECT current_setting('max_connections')::int AS most_connections,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS connections,
    clock_timestamp() AS now, current_setting('fsync') = 'on' AS is_durable,
    pg_is_in_recovery() AS is_standby, current_setting('transaction_read_only') = 'on' AS is_read_only"""


_ASKED_OF_A_REPLICA = """
SELECT pg_is_in_recovery() AS is_standby, current_setting('hot_standby_feedback') = 'on' AS holds_back_cleaning"""


class ReplicaFacts(Struct, frozen=True):
    """Facts of a read replica that an operator should know.

    ``holds_back_cleaning``: the primary keeps rows that a long read on the replica still needs.
    """

    is_standby: bool
    holds_back_cleaning: bool


class DatabaseFacts(Struct, frozen=True):
    """Facts of a PostgreSQL server that an operator should know.

    ``most_connections`` is the server's limit, ``now`` the time of its clock. A standby, and a server that has stopped
    in the middle of a recovery, are read-only as well.
    """

    most_connections: int
    connections: int
    now: datetime
    is_durable: bool
    is_standby: bool
    is_read_only: bool


async def database_facts(url: str) -> DatabaseFacts:
    """Raises ServiceUnavailable while the database is away."""
    return DatabaseFacts(**await _asked(url, _ASKED))


async def replica_facts(url: str) -> ReplicaFacts:
    """Raises ServiceUnavailable while the replica is away."""
    return ReplicaFacts(**await _asked(url, _ASKED_OF_A_REPLICA))


async def _asked(url: str, statement: str) -> dict[str, Any]:
    # behind a pooler, only a transaction stays with one server
    async with connected(url, statement_cache_size=0) as connection, connection.transaction():
        row = await connection.fetchrow(statement)
    assert row is not None
    return dict(row)
