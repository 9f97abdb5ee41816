"""Ports of entities' rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from adapters.memory.entities.attachments.files import MemoryAttachedFiles, MemoryUnusedFiles
from adapters.memory.entities.changes.log import MemoryChangeQueue, MemoryChanges
from adapters.memory.entities.files import MemoryTransfers
from adapters.memory.entities.history import MemoryHistory
from adapters.memory.entities.idempotency import MemoryIdempotencyStore
from adapters.memory.entities.ownership.shares import MemoryShares
from adapters.memory.entities.records import MemoryRecords
from adapters.memory.entities.summaries import MemorySummaries
from adapters.memory.identity.member_rows import MemoryMemberReferences, member_rows
from adapters.memory.store import Access, MemoryContext, Retained, Store
from application.ports.entities.records import Act, Change, Current, NewRow, Restored, RowPage, Stored, Versions
from domain.entities.declaration import EntityModel, Registry
from domain.entities.owning import without_limits
from domain.entities.query.query import Query, View
from domain.parts.entities import ANSWERS
from domain.scope import Scope


@dataclass(frozen=True)
class AccessedRecords:
    """Records on the state that each statement sees."""

    access: Access
    registry: Registry
    scope: Scope

    async def get(self, model: EntityModel, row_id: UUID, view: View) -> Stored | None:
        return await self._in(self.access.read()).get(model, row_id, view)

    async def page(self, model: EntityModel, query: Query) -> RowPage:
        return await self._in(self.access.read()).page(model, query)

    async def current(
        self,
        model: EntityModel,
        ids: Sequence[UUID],
        *,
        locked: bool = True,
        shares: bool = False,
        is_bounded: bool = False,
    ) -> dict[UUID, Current]:
        # Transactions run in sequence, so no lock is needed.
        records = self._in(self.access.read())
        return await records.current(model, ids, locked=locked, shares=shares, is_bounded=is_bounded)

    async def add(self, model: EntityModel, rows: Sequence[NewRow], act: Act) -> list[Stored]:
        async with self.access.write() as store:
            return await self._in(store).add(model, rows, act)

    async def change(self, model: EntityModel, changes: Sequence[Change], act: Act) -> list[Stored]:
        async with self.access.write() as store:
            return await self._in(store).change(model, changes, act)

    async def remove(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        async with self.access.write() as store:
            return await self._in(store).remove(model, ids, act, version)

    async def restore(self, model: EntityModel, row_id: UUID, act: Act, version: Versions = None) -> Restored:
        async with self.access.write() as store:
            return await self._in(store).restore(model, row_id, act, version)

    async def purge(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        async with self.access.write() as store:
            return await self._in(store).purge(model, ids, act, version)

    def _in(self, store: Store) -> MemoryRecords:
        return MemoryRecords(store.tables, self.registry, self.scope, member_rows(store, self.scope))


class MemoryEntityPorts(MemoryContext):
    @property
    def records(self) -> AccessedRecords:
        return AccessedRecords(self.access, self.registry, self.scope)

    @property
    def whole_records(self) -> AccessedRecords:
        return AccessedRecords(self.access, self.registry, without_limits(self.scope))

    @property
    def answers(self) -> MemoryIdempotencyStore:
        return MemoryIdempotencyStore(self.access)

    @property
    def history(self) -> MemoryHistory:
        return MemoryHistory(self.access, self.scope)

    @property
    def changes(self) -> MemoryChanges:
        return MemoryChanges(self.access, self.scope, self.registry)

    @property
    def change_queue(self) -> MemoryChangeQueue:
        return MemoryChangeQueue()

    @property
    def shares(self) -> MemoryShares:
        return MemoryShares(self.access, self.scope)

    @property
    def attached_files(self) -> MemoryAttachedFiles:
        return MemoryAttachedFiles(self.access, self.scope)

    @property
    def unused_files(self) -> MemoryUnusedFiles:
        return MemoryUnusedFiles(self.access, self.registry)

    @property
    def summaries(self) -> MemorySummaries:
        return MemorySummaries(self.access, self.registry, self.scope)

    @property
    def member_references(self) -> MemoryMemberReferences:
        return MemoryMemberReferences(self.access, self.registry)

    @property
    def transfers(self) -> MemoryTransfers:
        return MemoryTransfers(self.access, self.registry, self.scope)


RETAINED: Retained = {
    ANSWERS: lambda store: (store.answers, {key: response.at for key, response in store.answers.items()}),
}
