"""Members: rows of the memberships and their users, and the references to them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from adapters.memory.entities.removing import clear
from adapters.memory.entities.state import Row
from adapters.memory.store import Access, Store
from application.ports.entities.records import Act
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.markers import MEMBERS
from domain.errors import StillReferredTo
from domain.scope import OneTenant, Scope


def member_rows(store: Store, scope: Scope) -> dict[UUID, Row]:
    """Return the members by id; for all tenants, a user's further memberships have other keys."""
    rows: dict[UUID, Row] = {}
    for stored in store.memberships.values():
        if isinstance(scope, OneTenant) and stored.tenant_id != scope.id:
            continue
        user = store.users[stored.user_id]
        key = uuid5(stored.tenant_id, user.id.hex) if user.id in rows else user.id
        rows[key] = {
            "tenant_id": stored.tenant_id,
            "id": user.id,
            "full_name": user.full_name,
            "profile_picture_url": user.profile_picture_url,
            "joined_at": stored.joined_at,
        }
    return rows


@dataclass(frozen=True)
class MemoryMemberReferences:
    access: Access
    registry: Registry

    async def release(self, user_id: UUID, tenant_id: UUID | None, by: UUID, at: datetime) -> None:
        async with self.access.write() as store:
            found = self._referring(store, user_id, tenant_id)
            held = [(row, model, field) for model, field, row in found if _on_leave(field) == "restrict"]
            if held:
                rows = ((_id(row["tenant_id"]), model.plural, _id(row["id"]), field.name) for row, model, field in held)
                raise StillReferredTo([user_id], StillReferredTo.counted(rows))
            for model, field, row in found:
                if _on_leave(field) == "clear":
                    clear(store.tables, self.registry, (model, _id(row["id"])), field.name, Act(by, at))

    def _referring(
        self, store: Store, user_id: UUID, tenant_id: UUID | None
    ) -> list[tuple[EntityModel, FieldModel, Row]]:
        left = {held.tenant_id for held in store.memberships.values() if held.user_id == user_id}
        tenants = left if tenant_id is None else left & {tenant_id}
        return [
            (model, field, row)
            for model, field in self.registry.referring(MEMBERS)
            for row in store.tables.get(model.table, {}).values()
            if row[field.name] == user_id and row["tenant_id"] in tenants
        ]


def _on_leave(field: FieldModel) -> str | None:
    return None if field.reference is None else field.reference.on_leave


def _id(value: object) -> UUID:
    assert isinstance(value, UUID)
    return value
