"""Permissions that administrators added; the permissions of served entities follow from their declarations."""

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.failures import taken
from application.ports.identity.users import PERMISSION_TAKEN
from domain.scope import Permission

TAKEN: Mapping[str, tuple[str, str]] = {"uq_permissions_name": ("name", PERMISSION_TAKEN)}
_ALL = "SELECT id, name, description, category FROM permissions ORDER BY name"
_ADD = "INSERT INTO permissions (id, name, description, category) VALUES ($1, $2, $3, $4)"


@dataclass(frozen=True, slots=True)
class PostgresPermissions:
    connection: ServiceConnection

    async def all(self) -> list[Permission]:
        return [Permission(**row) for row in await self.connection.fetch(_ALL)]

    async def add(self, permission: Permission) -> None:
        values = (permission.id, permission.name, permission.description, permission.category)
        with taken(TAKEN):
            await self.connection.execute(_ADD, *values)
