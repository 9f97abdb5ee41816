"""Whether accounts are left whose imported hash has not been renewed."""

from dataclasses import dataclass

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.schema.sql import IMPORTED

_ANY_LEFT = f"SELECT EXISTS (SELECT FROM users WHERE {IMPORTED})"


@dataclass(frozen=True, slots=True)
class PostgresImportedHashes:
    connection: ServiceConnection

    async def any_left(self) -> bool:
        return bool(await self.connection.fetchval(_ANY_LEFT))
