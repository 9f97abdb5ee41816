"""Facts of a PostgreSQL server for operators."""

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
    """Facts of a read replica for operators.

    ``holds_back_cleaning``: the primary retains rows that a long read on the replica still needs.
    """

    is_standby: bool
    holds_back_cleaning: bool


class DatabaseFacts(Struct, frozen=True):
    """Facts of a PostgreSQL server for operators.

    ``most_connections`` is the server's limit, ``now`` its clock's time. A standby, and a server stopped in the middle
    of a recovery, are also read-only.
    """

    most_connections: int
    connections: int
    now: datetime
    is_durable: bool
    is_standby: bool
    is_read_only: bool


async def database_facts(url: str) -> DatabaseFacts:
    """Return facts of the database. Raises ServiceUnavailable if it is unavailable."""
    return DatabaseFacts(**await _asked(url, _ASKED))


async def replica_facts(url: str) -> ReplicaFacts:
    """Return facts of the replica. Raises ServiceUnavailable if it is unavailable."""
    return ReplicaFacts(**await _asked(url, _ASKED_OF_A_REPLICA))


async def _asked(url: str, statement: str) -> dict[str, Any]:
    # A pooler assigns one server connection only for a transaction, so disable the statement cache.
    async with connected(url, statement_cache_size=0) as connection, connection.transaction():
        row = await connection.fetchrow(statement)
    assert row is not None
    return dict(row)
