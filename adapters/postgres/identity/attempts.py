"""Failed logins, counted for each address and network. The row with the empty network counts all networks together.

Rows are always locked in the same order, the network's row before the one for all networks, so that concurrent
guesses wait for each other and never deadlock.
"""

from dataclasses import dataclass
from datetime import datetime

from adapters.postgres.connection.connections import ServiceConnection
from domain.limits import FAILURES_FORGOTTEN, NETWORK_FORGOTTEN, Lockout

# $1 address key, $2 network, $3 limit of a network, $4 now, $5 end of a new lock, $6 limit of all networks,
# $7 the moment before which failures are forgotten, $8 the one before which networks are.
# Each CTE adds one failure: a count that has ended begins again at 1, and a lock that is in force keeps its end.
# A network with a login in the last days (NETWORK_FORGOTTEN) is not held up by the lock over all networks.
_RESERVE = """
WITH own AS (
    INSERT INTO login_attempts AS a (email_key, network, failures, locks_at, locked_until, tried_at)
    SELECT $1, $2, 1, $3::int, CASE WHEN $3::int <= 1 THEN $5::timestamptz END, $4
    WHERE NOT EXISTS (
        SELECT FROM login_attempts WHERE email_key = $1 AND network = '' AND locked_until > $4)
    OR EXISTS (SELECT FROM login_attempts WHERE email_key = $1 AND network = $2 AND known_at > $8)
    ON CONFLICT (email_key, network) DO UPDATE
    SET failures = CASE WHEN a.locked_until <= $4 OR (a.locked_until IS NULL AND a.tried_at <= $7) THEN 1
                        ELSE a.failures + 1 END,
        locks_at = $3::int, tried_at = $4,
        locked_until = CASE WHEN a.locked_until > $4 THEN a.locked_until
            WHEN CASE WHEN a.locked_until <= $4 OR (a.locked_until IS NULL AND a.tried_at <= $7) THEN 1
                      ELSE a.failures + 1 END >= $3::int THEN $5 END
    WHERE a.locked_until IS NULL OR a.locked_until <= $4
    RETURNING a.known_at),
together AS (
    INSERT INTO login_attempts AS a (email_key, network, failures, locks_at, locked_until, tried_at)
    SELECT $1, '', 1, $6::int, NULL::timestamptz, $4 FROM own
    ON CONFLICT (email_key, network) DO UPDATE
    SET failures = CASE WHEN a.locked_until <= $4 OR (a.locked_until IS NULL AND a.tried_at <= $7) THEN 1
                        ELSE a.failures + 1 END,
        locks_at = $6::int, tried_at = $4,
        locked_until = CASE WHEN a.locked_until > $4 THEN a.locked_until
            WHEN CASE WHEN a.locked_until <= $4 OR (a.locked_until IS NULL AND a.tried_at <= $7) THEN 1
                      ELSE a.failures + 1 END >= $6::int THEN $5 END
    WHERE a.locked_until IS NULL OR a.locked_until <= $4 OR EXISTS (SELECT FROM own WHERE own.known_at > $8)
    RETURNING a.known_at)
SELECT EXISTS (SELECT FROM own) AND EXISTS (SELECT FROM together)"""
_RELEASE = """
WITH own AS (UPDATE login_attempts SET failures = greatest(0, failures - 1),
    locked_until = CASE WHEN failures > locks_at THEN locked_until END
    WHERE email_key = $1 AND network = $2 RETURNING 1)
UPDATE login_attempts SET failures = greatest(0, failures - 1),
    locked_until = CASE WHEN failures > locks_at THEN locked_until END
WHERE email_key = $1 AND network = '' AND EXISTS (SELECT FROM own)"""
# The same three CTEs stand in the statement that begins a session (sessions.py): change both.
_FORGIVE = """
WITH before AS (
    SELECT failures FROM login_attempts WHERE email_key = $1 AND network = $2 FOR UPDATE),
own AS (
    UPDATE login_attempts SET failures = 0, locked_until = NULL, known_at = $3
    WHERE email_key = $1 AND network = $2 AND EXISTS (SELECT FROM before)),
together AS (
    UPDATE login_attempts SET failures = greatest(0, login_attempts.failures - before.failures),
        locked_until = CASE WHEN login_attempts.failures - before.failures >= locks_at THEN locked_until END
    FROM before WHERE email_key = $1 AND network = '')
SELECT FROM before"""
_UNLOCK = "UPDATE login_attempts SET failures = 0, locked_until = NULL WHERE email_key = $1"
_IS_KNOWN = "SELECT EXISTS (SELECT FROM login_attempts WHERE email_key = $1 AND network = $2 AND known_at > $3)"
_LOCKED_UNTIL = "SELECT max(locked_until) FROM login_attempts WHERE email_key = $1 AND locked_until > $2"


@dataclass(frozen=True, slots=True)
class PostgresAttempts:
    connection: ServiceConnection

    async def reserve(self, email_key: str, network: str, lockout: Lockout, now: datetime) -> bool:
        until = now + lockout.duration
        pauses = (now - FAILURES_FORGOTTEN, now - NETWORK_FORGOTTEN)
        limits = (lockout.attempts, now, until, lockout.attempts_over_all, *pauses)
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
