"""Client applications by id."""

from dataclasses import dataclass

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.identity.applications import ClientApplication

_BY_ID = """
SELECT name, is_active, allowed_tenant_ids, required_permission, redirect_urls
FROM applications WHERE app_id = $1 AND NOT is_deleted"""


@dataclass(frozen=True, slots=True)
class PostgresApplications:
    connection: ServiceConnection

    async def by_id(self, app_id: str) -> ClientApplication | None:
        row = await self.connection.fetchrow(_BY_ID, app_id)
        return None if row is None else ClientApplication(**row)
