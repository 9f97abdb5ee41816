"""Failed logins. The empty network is the row that counts for all networks of an address together.

Rows are locked in one order, the network's own before that of all, so that guesses wait for each other and
never for ever.
"""

from dataclasses import dataclass
from datetime import datetime

from adapters.postgres.connection.connections import ServiceConnection
from domain.identity.users import FAILURES_FORGOTTEN, Lockout

_IS_FREE = "(a.locked_until IS NULL OR a.locked_until <= $4)"
_IS_KNOWN = "EXISTS (SELECT FROM own WHERE own.known_at IS NOT NULL)"
_FORGOTTEN = "(a.locked_until <= $4 OR (a.locked_until IS NULL AND a.tried_at <= $7))"
_COUNTED = f"CASE WHEN {_FORGOTTEN} THEN 1 ELSE a.failures + 1 END"


def _count(source: str, limit: str, condition: str) -> str:
    """One more failure, where the condition holds; what has ended begins anew, a lock that stands stays."""
    return f"""
    INSERT INTO login_attempts AS a (email_key, network, failures, locks_at, locked_until, tried_at)
    {source}
    ON CONFLICT (email_key, network) DO UPDATE
    SET failures = {_COUNTED}, locks_at = {limit}, tried_at = $4,
        locked_until = CASE WHEN a.locked_until > $4 THEN a.locked_until WHEN {_COUNTED} >= {limit} THEN $5 END
    WHERE {condition}
    RETURNING a.known_at"""


_LIMIT, _LIMIT_OF_ALL = "$3::int", "$6::int"
_OWN = f"""
SELECT $1, $2, 1, {_LIMIT}, CASE WHEN {_LIMIT} <= 1 THEN $5::timestamptz END, $4
WHERE NOT EXISTS (
    SELECT FROM login_attempts WHERE email_key = $1 AND network = '' AND locked_until > $4)
OR EXISTS (SELECT FROM login_attempts WHERE email_key = $1 AND network = $2 AND known_at IS NOT NULL)"""
_TOGETHER = f"SELECT $1, '', 1, {_LIMIT_OF_ALL}, NULL::timestamptz, $4 FROM own"
_RESERVE = f"""
WITH own AS ({_count(_OWN, _LIMIT, _IS_FREE)}),
together AS ({_count(_TOGETHER, _LIMIT_OF_ALL, f"{_IS_FREE} OR {_IS_KNOWN}")})
SELECT EXISTS (SELECT FROM own) AND EXISTS (SELECT FROM together)"""
_RELEASE = """
WITH own AS (UPDATE login_attempts SET failures = greatest(0, failures - 1),
    locked_until = CASE WHEN failures > locks_at THEN locked_until END
    WHERE email_key = $1 AND network = $2 RETURNING 1)
UPDATE login_attempts SET failures = greatest(0, failures - 1),
    locked_until = CASE WHEN failures > locks_at THEN locked_until END
WHERE email_key = $1 AND network = '' AND EXISTS (SELECT FROM own)"""


def forgiving(email_key: str, network: str, at: str, only_if: str = "true") -> str:
    """Parts of a WITH, of the parameters' names; the row is locked after what the condition asks for."""
    return f"""before AS (
    SELECT failures FROM login_attempts WHERE email_key = {email_key} AND network = {network} AND {only_if} FOR UPDATE),
own AS (
    UPDATE login_attempts SET failures = 0, locked_until = NULL, known_at = coalesce(known_at, {at})
    WHERE email_key = {email_key} AND network = {network} AND EXISTS (SELECT FROM before)),
together AS (
    UPDATE login_attempts SET failures = greatest(0, login_attempts.failures - before.failures),
        locked_until = CASE WHEN login_attempts.failures - before.failures >= locks_at THEN locked_until END
    FROM before WHERE email_key = {email_key} AND network = '')"""


_FORGIVE = f"WITH {forgiving('$1', '$2', '$3')} SELECT FROM before"
_UNLOCK = "UPDATE login_attempts SET failures = 0, locked_until = NULL WHERE email_key = $1"
_LOCKED_UNTIL = "SELECT max(locked_until) FROM login_attempts WHERE email_key = $1 AND locked_until > $2"


@dataclass(frozen=True, slots=True)
class PostgresAttempts:
    connection: ServiceConnection

    async def reserve(self, email_key: str, network: str, lockout: Lockout, now: datetime) -> bool:
        until = now + lockout.duration
        limits = (lockout.attempts, now, until, lockout.attempts_over_all, now - FAILURES_FORGOTTEN)
        return bool(await self.connection.fetchval(_RESERVE, email_key, network, *limits))

    async def release(self, email_key: str, network: str) -> None:
        await self.connection.execute(_RELEASE, email_key, network)

    async def forgive(self, email_key: str, network: str, now: datetime) -> None:
        await self.connection.execute(_FORGIVE, email_key, network, now)

    async def unlock(self, email_key: str) -> None:
        await self.connection.execute(_UNLOCK, email_key)

    async def locked_until(self, email_key: str, now: datetime) -> datetime | None:
        until: datetime | None = await self.connection.fetchval(_LOCKED_UNTIL, email_key, now)
        return until
