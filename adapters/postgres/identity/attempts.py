"""Failed logins per address and network. In the row with the empty network, the service counts all networks together.

Each statement locks the network's row before the row for all networks, so concurrent attempts wait for each other
without deadlocks.
"""

from dataclasses import dataclass
from datetime import datetime

from adapters.postgres.connection.connections import ServiceConnection
from domain.lockout import FAILURES_FORGOTTEN, NETWORK_FORGOTTEN, Lockout

# $1 address key, $2 network, $3 limit of a network, $4 now, $5 duration of a first lock, $6 limit of all networks, $7
# time before which failures and locks are forgotten, $8 the same for networks, $9 the longest lock. Each CTE adds one
# failure. After a lock or a long pause, the count restarts at 1; an active lock retains its end. Each consecutive lock
# lasts twice as long, up to 20 doublings (DOUBLED_AT_MOST). The lock over all networks exempts networks with a recent
# login (NETWORK_FORGOTTEN).
_RESERVE = """
WITH own AS (
    INSERT INTO login_attempts AS a (email_key, network, failures, locks_at, locks, locked_until, tried_at)
    SELECT $1, $2, 1, $3::int, ($3::int <= 1)::int, CASE WHEN $3::int <= 1 THEN $4::timestamptz + $5::interval END, $4
    WHERE NOT EXISTS (
        SELECT FROM login_attempts WHERE email_key = $1 AND network = '' AND locked_until > $4)
    OR EXISTS (SELECT FROM login_attempts WHERE email_key = $1 AND network = $2 AND known_at > $8)
    ON CONFLICT (email_key, network) DO UPDATE
    SET (failures, locks_at, tried_at, locks, locked_until) = (
        SELECT n.failures, $3::int, $4, n.locks + (n.failures >= $3::int)::int, CASE WHEN n.failures >= $3::int
            THEN $4::timestamptz + least($5::interval * power(2, least(n.locks, 20)), $9::interval) END
        FROM (SELECT
            CASE WHEN a.locked_until IS NOT NULL OR a.tried_at <= $7 THEN 1 ELSE a.failures + 1 END AS failures,
            CASE WHEN greatest(a.tried_at, a.locked_until) <= $7 THEN 0 ELSE a.locks END AS locks) AS n)
    WHERE a.locked_until IS NULL OR a.locked_until <= $4
    RETURNING a.known_at),
together AS (
    INSERT INTO login_attempts AS a (email_key, network, failures, locks_at, locks, locked_until, tried_at)
    SELECT $1, '', 1, $6::int, 0, NULL::timestamptz, $4 FROM own
    ON CONFLICT (email_key, network) DO UPDATE
    SET (failures, locks_at, tried_at, locks, locked_until) = (
        SELECT n.failures, $6::int, $4, n.locks + (NOT n.is_locked AND n.failures >= $6::int)::int,
            CASE WHEN n.is_locked THEN a.locked_until WHEN n.failures >= $6::int
            THEN $4::timestamptz + least($5::interval * power(2, least(n.locks, 20)), $9::interval) END
        FROM (SELECT
            CASE WHEN a.locked_until <= $4 OR (a.locked_until IS NULL AND a.tried_at <= $7)
                THEN 1 ELSE a.failures + 1 END AS failures,
            CASE WHEN greatest(a.tried_at, a.locked_until) <= $7 THEN 0 ELSE a.locks END AS locks,
            a.locked_until IS NOT NULL AND a.locked_until > $4 AS is_locked) AS n)
    WHERE a.locked_until IS NULL OR a.locked_until <= $4 OR EXISTS (SELECT FROM own WHERE own.known_at > $8)
    RETURNING a.known_at)
SELECT EXISTS (SELECT FROM own) AND EXISTS (SELECT FROM together)"""
# `locked_until IS NOT NULL AND failures <= locks_at`: the refunded attempt caused this lock.
_RELEASE = """
WITH own AS (UPDATE login_attempts SET failures = greatest(0, failures - 1),
    locked_until = CASE WHEN failures > locks_at THEN locked_until END,
    locks = greatest(0, locks - (locked_until IS NOT NULL AND failures <= locks_at)::int)
    WHERE email_key = $1 AND network = $2 RETURNING 1)
UPDATE login_attempts SET failures = greatest(0, failures - 1),
    locked_until = CASE WHEN failures > locks_at THEN locked_until END,
    locks = greatest(0, locks - (locked_until IS NOT NULL AND failures <= locks_at)::int)
WHERE email_key = $1 AND network = '' AND EXISTS (SELECT FROM own)"""
# sessions.py repeats these three CTEs: change both.
_FORGIVE = """
WITH before AS (
    SELECT failures FROM login_attempts WHERE email_key = $1 AND network = $2 FOR UPDATE),
own AS (
    UPDATE login_attempts SET failures = 0, locks = 0, locked_until = NULL, known_at = $3
    WHERE email_key = $1 AND network = $2 AND EXISTS (SELECT FROM before)),
together AS (
    UPDATE login_attempts SET failures = greatest(0, login_attempts.failures - before.failures),
        locked_until = CASE WHEN login_attempts.failures - before.failures >= locks_at THEN locked_until END,
        locks = greatest(0, locks - (
            locked_until IS NOT NULL AND login_attempts.failures - before.failures < locks_at)::int)
    FROM before WHERE email_key = $1 AND network = '')
SELECT FROM before"""
_UNLOCK = "UPDATE login_attempts SET failures = 0, locks = 0, locked_until = NULL WHERE email_key = $1"
_IS_KNOWN = "SELECT EXISTS (SELECT FROM login_attempts WHERE email_key = $1 AND network = $2 AND known_at > $3)"
_LOCKED_UNTIL = "SELECT max(locked_until) FROM login_attempts WHERE email_key = $1 AND locked_until > $2"


@dataclass(frozen=True, slots=True)
class PostgresAttempts:
    connection: ServiceConnection

    async def reserve(self, email_key: str, network: str, lockout: Lockout, now: datetime) -> bool:
        pauses = (now - FAILURES_FORGOTTEN, now - NETWORK_FORGOTTEN)
        limits = (lockout.attempts, now, lockout.duration, lockout.attempts_over_all, *pauses, lockout.longest)
        return bool(await self.connection.fetchval(_RESERVE, email_key, network, *limits))

    async def release(self, email_key: str, network: str) -> None:
        await self.connection.execute(_RELEASE, email_key, network)

    async def forgive(self, email_key: str, network: str, now: datetime) -> None:
        await self.connection.execute(_FORGIVE, email_key, network, now)

    async def unlock(self, email_key: str) -> None:
        await self.connection.execute(_UNLOCK, email_key)

    async def is_known(self, email_key: str, network: str, now: datetime) -> bool:
        return bool(await self.connection.fetchval(_IS_KNOWN, email_key, network, now - NETWORK_FORGOTTEN))

    async def locked_until(self, email_key: str, now: datetime) -> datetime | None:
        until: datetime | None = await self.connection.fetchval(_LOCKED_UNTIL, email_key, now)
        return until
