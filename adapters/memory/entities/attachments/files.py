"""Entries of the files of rows, with the contract of PostgreSQL's."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

import msgspec

from adapters.memory.entities.attachments.holding import holders
from adapters.memory.entities.state import Row
from adapters.memory.store import Access, Store
from domain.entities.attachments.files import FileState, StoredFile, purpose_of
from domain.entities.attachments.marks import FILES
from domain.entities.declaration import Registry
from domain.errors import BadRequest, ServiceUnavailable
from domain.scope import OneTenant, Scope

USAGE = "file_usage"
"""Table of the usage of each tenant, by its id."""


@dataclass(frozen=True)
class MemoryAttachedFiles:
    access: Access
    scope: Scope

    async def add(self, file: StoredFile) -> None:
        async with self.access.write() as store:
            row = msgspec.structs.asdict(file)
            store.tables.setdefault(FILES, {})[file.id] = {**row, "sizes": list(file.sizes), "tenant_id": self._tenant}

    async def complete(self, file: StoredFile, at: datetime, quota: int | None) -> bool:
        async with self.access.write() as store:
            row = store.tables.get(FILES, {}).get(file.id)
            if row is None or row["state"] != "writing":
                raise ServiceUnavailable
            count = _usage(store, self._tenant)
            if quota is not None and count["bytes"] + file.size > quota:
                return False
            _enter(store, row, "temporary", at)
            _count(store, self._tenant, count["bytes"] + file.size, count["files"] + 1)
            return True

    async def temporary(self, file_id: UUID, by: UUID) -> StoredFile | None:
        return self._found(self.access.read(), file_id, created_by=by, state="temporary")

    async def held(self, purpose: str, row_id: UUID, file_id: UUID) -> StoredFile | None:
        return self._found(self.access.read(), file_id, purpose=purpose, row_id=row_id, state="held")

    async def discard(self, file_id: UUID, by: UUID, at: datetime) -> StoredFile | None:
        async with self.access.write() as store:
            if self._found(store, file_id, created_by=by, state="temporary") is None:
                return None
            return _enter(store, store.tables[FILES][file_id], "deleting", at)

    async def forget(self, file_id: UUID) -> None:
        async with self.access.write() as store:
            _forget(store, store.tables.get(FILES, {}).get(file_id))

    async def used(self) -> int:
        return _usage(self.access.read(), self._tenant)["bytes"]

    def _found(self, store: Store, file_id: UUID, **values: object) -> StoredFile | None:
        row = store.tables.get(FILES, {}).get(file_id)
        if row is None or row["tenant_id"] != self._tenant or any(row[name] != want for name, want in values.items()):
            return None
        return _file(row)

    @property
    def _tenant(self) -> UUID:
        if not isinstance(self.scope, OneTenant):
            raise BadRequest("Files are written in one tenant at a time.")
        return self.scope.id


@dataclass(frozen=True)
class MemoryUnusedFiles:
    access: Access
    registry: Registry

    async def claim(
        self, now: datetime, written: datetime, attached: datetime, released: datetime, most: int
    ) -> Sequence[StoredFile]:
        latest = {"temporary": attached, "released": released}
        latest |= dict.fromkeys(("writing", "deleting", "abandoned"), written)
        async with self.access.write() as store:
            files = [_file(row) for row in store.tables.get(FILES, {}).values() if row["state"] in latest]
            due = sorted((file for file in files if file.since <= latest[file.state]), key=lambda file: file.since)
            return [
                _enter(
                    store,
                    store.tables[FILES][file.id],
                    "abandoned" if file.state in ("writing", "abandoned") else "deleting",
                    now,
                )
                for file in due[:most]
            ]

    async def page(self, after: tuple[UUID, UUID] | None, most: int) -> Sequence[StoredFile]:
        files = (_file(row) for row in self.access.read().tables.get(FILES, {}).values())
        left = [file for file in files if after is None or (file.tenant_id, file.id) > after]
        return sorted(left, key=lambda file: (file.tenant_id, file.id))[:most]

    async def forget(self, files: Sequence[StoredFile]) -> None:
        async with self.access.write() as store:
            for file in files:
                _forget(store, store.tables.get(FILES, {}).get(file.id))

    async def misheld(self, most: int) -> Sequence[StoredFile]:
        store = self.access.read()
        files = [_file(row) for row in store.tables.get(FILES, {}).values()]
        found: dict[UUID, StoredFile] = {}
        for model in self.registry:
            for held in model.attachments:
                purpose, named = purpose_of(model, held), holders(store.tables, model, held)
                for file in files:
                    holder = (file.entity, file.row_id) if (file.state, file.purpose) == ("held", purpose) else None
                    row_id = named.get(file.id)
                    if holder != (None if row_id is None else (model.plural, row_id)):
                        found[file.id] = file
        return list(found.values())[:most]

    async def miscounted(self, most: int) -> Sequence[UUID]:
        store = self.access.read()
        files = [_file(row) for row in store.tables.get(FILES, {}).values()]
        counted = [file for file in files if file.state not in ("writing", "abandoned")]
        tenants = {file.tenant_id for file in counted} | set(store.tables.get(USAGE, {}))

        def sums(tenant: UUID) -> dict[str, int]:
            own = [file.size for file in counted if file.tenant_id == tenant]
            return {"bytes": sum(own), "files": len(own)}

        return sorted(tenant for tenant in tenants if _usage(store, tenant) != sums(tenant))[:most]


def _forget(store: Store, row: Row | None) -> None:
    if row is None or row["state"] not in ("writing", "deleting", "abandoned"):
        return
    file = _file(row)
    del store.tables[FILES][file.id]
    if file.state == "deleting":
        count = _usage(store, file.tenant_id)
        _count(store, file.tenant_id, count["bytes"] - file.size, count["files"] - 1)


def _enter(store: Store, row: Row, state: FileState, at: datetime) -> StoredFile:
    file_id = cast(UUID, row["id"])
    store.tables[FILES][file_id] = {**row, "state": state, "since": at}
    return _file(store.tables[FILES][file_id])


def _file(row: Row) -> StoredFile:
    return msgspec.convert(row, StoredFile)


def _usage(store: Store, tenant: UUID) -> dict[str, int]:
    return cast("dict[str, int]", store.tables.get(USAGE, {}).get(tenant, {"bytes": 0, "files": 0}))


def _count(store: Store, tenant: UUID, size: int, files: int) -> None:
    store.tables.setdefault(USAGE, {})[tenant] = {"bytes": size, "files": files}
