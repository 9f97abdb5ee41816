"""Shares of rows, with the contract of PostgreSQL's."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from adapters.memory.entities.changes.log import log_share
from adapters.memory.entities.state import SHARES, Row, share_key
from adapters.memory.store import Access, Store
from application.ports.entities.records import Act
from application.ports.entities.shares import Share
from domain.entities.declaration import EntityModel
from domain.entities.owning import ShareLevel
from domain.errors import BadRequest
from domain.scope import OneTenant, Scope


@dataclass(frozen=True)
class MemoryShares:
    access: Access
    scope: Scope

    async def of(self, model: EntityModel, row_id: UUID) -> Sequence[Share]:
        store, named = self.access.read(), (self._tenant, model.plural, row_id)
        rows = store.tables.get(SHARES, {}).values()
        shares = [_share(store, row) for row in rows if (row["tenant_id"], row["entity"], row["row_id"]) == named]
        return sorted(shares, key=lambda share: (share.created_at, share.user_id))

    async def put(self, model: EntityModel, row_id: UUID, user_id: UUID, level: ShareLevel, act: Act) -> Share | None:
        async with self.access.write() as store:
            if (user_id, self._tenant) not in store.memberships:
                return None
            shares, key = store.tables.setdefault(SHARES, {}), share_key(self._tenant, model, row_id, user_id)
            named = {"tenant_id": self._tenant, "entity": model.plural, "row_id": row_id, "user_id": user_id}
            created = {"created_at": act.at, "created_by": act.by}
            if key not in shares:
                log_share(store.tables, model, self._tenant, act, "shared", (row_id, user_id))
            shares[key] = {**shares.get(key, {**named, **created}), "level": level}
            return _share(store, shares[key])

    async def remove(self, model: EntityModel, row_id: UUID, user_id: UUID, act: Act) -> bool:
        async with self.access.write() as store:
            shares, key = store.tables.get(SHARES, {}), share_key(self._tenant, model, row_id, user_id)
            if shares.pop(key, None) is None:
                return False
            log_share(store.tables, model, self._tenant, act, "unshared", (row_id, user_id))
            return True

    @property
    def _tenant(self) -> UUID:
        if not isinstance(self.scope, OneTenant):
            raise BadRequest("Rows of tenants are written in one tenant at a time.")
        return self.scope.id


def _share(store: Store, row: Row) -> Share:
    user_id, level, created_at, created_by = (row[name] for name in ("user_id", "level", "created_at", "created_by"))
    assert isinstance(user_id, UUID)
    shown = {"userId": user_id, "fullName": store.users[user_id].full_name, "level": level}
    return msgspec.convert({**shown, "createdAt": created_at, "createdBy": created_by}, Share)
