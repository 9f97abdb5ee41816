"""References of rows to members, released before a membership ends."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.writing.removal_statements import ReferringField, clear_references, count_referring
from adapters.postgres.statements.running import fetch
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import MEMBERS
from domain.errors import Referrer, StillReferredTo

_LOCK = """
SELECT tenant_id FROM memberships WHERE user_id = $1 AND ($2::uuid IS NULL OR tenant_id = $2)
ORDER BY tenant_id FOR UPDATE"""


@dataclass(frozen=True, slots=True)
class PostgresMemberReferences:
    connection: ServiceConnection
    registry: Registry

    async def release(self, user_id: UUID, tenant_id: UUID | None, by: UUID, at: datetime) -> None:
        restricted, cleared = (self._fields(on_leave) for on_leave in ("restrict", "clear"))
        if not (restricted or cleared):
            return
        tenants = [row["tenant_id"] for row in await self.connection.fetch(_LOCK, user_id, tenant_id)]
        if found := [each for tenant in tenants async for each in self._restricting(restricted, user_id, tenant)]:
            raise StillReferredTo([user_id], found)
        for tenant in tenants:
            values = {"tenant": tenant, "ids": [user_id], "by": by, "at": at}
            for reference in cleared:
                # Deleted rows too: the foreign key holds for them.
                statement = clear_references(self.registry, self._members, reference, is_final=True)
                await fetch(self.connection, statement, values)

    @property
    def _members(self) -> EntityModel:
        return self.registry[MEMBERS]

    def _fields(self, on_leave: str) -> list[ReferringField]:
        referring = self.registry.referring(MEMBERS)
        return [
            (model, field.name)
            for model, field in referring
            if field.reference and field.reference.on_leave == on_leave
        ]

    async def _restricting(
        self, fields: Sequence[ReferringField], user_id: UUID, tenant: UUID
    ) -> AsyncIterator[tuple[UUID, Referrer]]:
        by_model: dict[EntityModel, list[str]] = {}
        for model, name in fields:
            by_model.setdefault(model, []).append(name)
        for model, names in by_model.items():
            statement = count_referring(self.registry, model, tuple((self._members, name, True) for name in names))
            for row in await fetch(self.connection, statement, _arguments(user_id, tenant, len(names))):
                yield tenant, Referrer(model.plural, tuple(row["names"]), row["count"])


def _arguments(user_id: UUID, tenant: UUID, count: int) -> Mapping[str, Any]:
    values: dict[str, Any] = {"ours": tenant}
    for number in range(count):
        values |= {f"ids_{number}": [user_id], f"roots_{number}": [user_id], f"tenant_{number}": tenant}
    return values
