"""Second factors, recovery codes, and the handles of passkeys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
from msgspec.structs import astuple

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.failures import taken
from adapters.postgres.context import PostgresContext
from application.ports.identity.factors import Credential, Factor

TAKEN: Mapping[str, tuple[str, str]] = {"uq_factors_credential_id": ("response", "This passkey is registered already.")}

_OF = """
SELECT id, user_id, kind, name, created_at, last_used_at, sealed, last_step, credential_id, public_key, counter,
    transports, aaguid, backup_eligible, backed_up, uv_initialized
FROM factors WHERE user_id = $1 ORDER BY created_at, id"""
_BY_CREDENTIAL = """
SELECT id, user_id, kind, name, created_at, last_used_at, sealed, last_step, credential_id, public_key, counter,
    transports, aaguid, backup_eligible, backed_up, uv_initialized
FROM factors WHERE credential_id = $1"""
_ADD = """
INSERT INTO factors (
    id, user_id, kind, name, created_at, last_used_at, sealed, last_step, credential_id, public_key, counter,
    transports, aaguid, backup_eligible, backed_up, uv_initialized)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"""
_RENAME = "UPDATE factors SET name = $3 WHERE user_id = $1 AND id = $2 RETURNING true"
_REMOVE = """
WITH gone AS (DELETE FROM factors WHERE user_id = $1 AND ($2::uuid IS NULL OR id = $2) RETURNING 1)
SELECT count(*) FROM gone"""
# `last_step < $2`: of two concurrent uses of one code, the second finds no row to update.
_USE_STEP = """
UPDATE factors SET last_step = $2, sealed = $3, last_used_at = $4 WHERE id = $1 AND last_step < $2 RETURNING true"""
_USE_CREDENTIAL = """
UPDATE factors SET counter = $3, backed_up = $4, last_used_at = $5 WHERE id = $1 AND counter = $2 RETURNING true"""

_NO_CODES = "DELETE FROM recovery_codes WHERE user_id = $1"
_ADD_CODES = "INSERT INTO recovery_codes (user_id, hash) SELECT $1, given FROM unnest($2::bytea[]) given"
_USE_CODE = """
UPDATE recovery_codes SET used_at = $3 WHERE user_id = $1 AND hash = $2 AND used_at IS NULL RETURNING true"""
_CODES_LEFT = "SELECT count(*) FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL"

_HANDLE = """
UPDATE users SET webauthn_handle = coalesce(webauthn_handle, $2) WHERE id = $1 RETURNING webauthn_handle"""


@dataclass(frozen=True, slots=True)
class PostgresFactors:
    connection: ServiceConnection

    async def of(self, user_id: UUID) -> list[Factor]:
        return [_factor(row) for row in await self.connection.fetch(_OF, user_id)]

    async def by_credential(self, credential_id: bytes) -> Factor | None:
        row = await self.connection.fetchrow(_BY_CREDENTIAL, credential_id)
        return None if row is None else _factor(row)

    async def add(self, factor: Factor) -> None:
        *own, credential = astuple(factor)
        columns = (None,) * len(Credential.__struct_fields__) if credential is None else astuple(credential)
        with taken(TAKEN):
            await self.connection.execute(_ADD, *own, *columns)

    async def rename(self, user_id: UUID, factor_id: UUID, name: str) -> bool:
        return bool(await self.connection.fetchval(_RENAME, user_id, factor_id, name))

    async def remove(self, user_id: UUID, factor_id: UUID | None) -> int:
        gone: int = await self.connection.fetchval(_REMOVE, user_id, factor_id)
        return gone

    async def use_step(self, factor_id: UUID, step: int, sealed: str, at: datetime) -> bool:
        return bool(await self.connection.fetchval(_USE_STEP, factor_id, step, sealed, at))

    async def use_credential(self, factor_id: UUID, seen: int, credential: Credential, at: datetime) -> bool:
        state = (credential.counter, credential.backed_up)
        return bool(await self.connection.fetchval(_USE_CREDENTIAL, factor_id, seen, *state, at))


@dataclass(frozen=True, slots=True)
class PostgresRecoveryCodes:
    connection: ServiceConnection

    async def replace(self, user_id: UUID, digests: Sequence[bytes]) -> None:
        await self.connection.execute(_NO_CODES, user_id)
        if digests:
            await self.connection.execute(_ADD_CODES, user_id, list(digests))

    async def use(self, user_id: UUID, digest: bytes, at: datetime) -> bool:
        return bool(await self.connection.fetchval(_USE_CODE, user_id, digest, at))

    async def left(self, user_id: UUID) -> int:
        left: int = await self.connection.fetchval(_CODES_LEFT, user_id)
        return left


@dataclass(frozen=True, slots=True)
class PostgresPasskeyHandles:
    connection: ServiceConnection

    async def of(self, user_id: UUID, fresh: bytes) -> bytes:
        handle: bytes = await self.connection.fetchval(_HANDLE, user_id, fresh)
        return handle


def _factor(row: asyncpg.Record) -> Factor:
    values = dict(row)
    names = Credential.__struct_fields__[1:]
    credential_id, columns = values.pop("credential_id"), {name: values.pop(name) for name in names}
    if credential_id is None:
        return Factor(**values)
    columns["transports"] = tuple(columns["transports"])
    return Factor(**values, credential=Credential(id=credential_id, **columns))


class PostgresFactorPorts(PostgresContext):
    __slots__ = ()

    @property
    def factors(self) -> PostgresFactors:
        return PostgresFactors(self.connection)

    @property
    def recovery_codes(self) -> PostgresRecoveryCodes:
        return PostgresRecoveryCodes(self.connection)

    @property
    def passkey_handles(self) -> PostgresPasskeyHandles:
        return PostgresPasskeyHandles(self.connection)
