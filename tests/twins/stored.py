"""Drawn rows in the memory adapter."""

from typing import Any

from adapters.memory.entities.records import MemoryRecords
from adapters.memory.entities.state import SHARES, share_key
from adapters.memory.identity.member_rows import member_rows
from adapters.memory.identity.state import StoredMembership
from adapters.memory.store import Store
from domain.entities.declaration import Registry
from domain.entities.markers import MEMBERS
from domain.scope import Scope
from tests.builders import user
from tests.twins.drawing import Rows


def memory_store(registry: Registry, stored: Rows) -> Store:
    tables: Any = {model.table: {row["id"]: row for row in stored[model.table]} for model in registry.stored}
    shares: list[Any] = stored.get(SHARES, [])
    keys = [share_key(row["tenant_id"], registry[row["entity"]], row["row_id"], row["user_id"]) for row in shares]
    store = Store(tables={**tables, SHARES: dict(zip(keys, shares, strict=True))})
    members: list[Any] = stored.get(MEMBERS, [])
    for row in members:
        store.users[row["id"]] = user(id=row["id"], full_name=row["full_name"])
        store.memberships[row["id"], row["tenant_id"]] = StoredMembership(
            user_id=row["id"], tenant_id=row["tenant_id"], is_default=False, joined_at=row["joined_at"], role_ids=()
        )
    return store


def memory_records(registry: Registry, stored: Rows, scope: Scope) -> MemoryRecords:
    store = memory_store(registry, stored)
    return MemoryRecords(store.tables, registry, scope, member_rows(store, scope))
