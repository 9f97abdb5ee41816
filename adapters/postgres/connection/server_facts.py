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

# A lock by a number of 64 bits is listed as two halves, with objsubid 1.
_LOCK_HOLDERS = """
SELECT l.pid, a.application_name AS program, coalesce(host(a.client_addr), 'a local socket') AS address,
    coalesce(a.state, 'unknown') AS state, a.xact_start AS since
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid, hashtextextended($1, 0) key
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (
    SELECT oid FROM pg_database WHERE datname = current_database())
AND l.classid::bigint = (key >> 32) & 4294967295 AND l.objid::bigint = key & 4294967295"""


class LockHolder(Struct, frozen=True):
    """A session that holds an advisory lock, and the start of its transaction if that is visible."""

    pid: int
    program: str
    address: str
    state: str
    since: datetime | None


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


async def lock_holder(url: str, name: str) -> LockHolder | None:
    """Return the holder of the advisory lock with this name, None if it is free. Raises ServiceUnavailable."""
    async with connected(url, statement_cache_size=0) as connection, connection.transaction():
        row = await connection.fetchrow(_LOCK_HOLDERS, name)
    return None if row is None else LockHolder(**dict(row))


async def _asked(url: str, statement: str) -> dict[str, Any]:
    # A pooler assigns one server connection only for a transaction, so disable the statement cache.
    async with connected(url, statement_cache_size=0) as connection, connection.transaction():
        row = await connection.fetchrow(statement)
    assert row is not None
    return dict(row)
