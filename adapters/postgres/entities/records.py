"""Rows of entities in PostgreSQL: one class each for reading, writing, deleting and restoring."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.attachments.holding import FileHolding
from adapters.postgres.entities.reading.narrowing import NO_SEARCHES, Searches
from adapters.postgres.entities.reading.select import PostgresSelect
from adapters.postgres.entities.writing.bulk_statements import referring_rows
from adapters.postgres.entities.writing.removing import PostgresRemoval, RowsByModel
from adapters.postgres.entities.writing.restoring import PostgresRestoring
from adapters.postgres.entities.writing.row_locks import lock_referred_rows, shared_references, take_advisory_locks
from adapters.postgres.entities.writing.writing import PostgresWriting
from adapters.postgres.statements.owning import user_of
from adapters.postgres.statements.running import fetch
from application.ports.entities.records import Act, Change, Current, NewRow, Restored, RowPage, Stored, Values, Versions
from domain.entities.declaration import EntityModel, Registry
from domain.entities.owning import NO_LIMITS, Limits, limits_in, without_limits
from domain.entities.query.query import Query, View
from domain.errors import BadRequest
from domain.scope import OneTenant, Scope


@dataclass(frozen=True, slots=True)
class PostgresRecords:
    connection: ServiceConnection
    registry: Registry
    scope: Scope
    searches: Searches = NO_SEARCHES

    def whole(self) -> "PostgresRecords":
        """The same records without limits to own rows, for rules and for references that a deletion clears."""
        return PostgresRecords(self.connection, self.registry, without_limits(self.scope), self.searches)

    async def get(self, model: EntityModel, row_id: UUID, view: View) -> Stored | None:
        return await self._select.get(model, row_id, view)

    async def page(self, model: EntityModel, query: Query) -> RowPage:
        return await self._select.page(model, query)

    @property
    def _select(self) -> PostgresSelect:
        return PostgresSelect(self.connection, self.registry, self.scope, self.searches)

    async def current(
        self,
        model: EntityModel,
        ids: Sequence[UUID],
        *,
        locked: bool = True,
        shares: bool = False,
        is_bounded: bool = False,
    ) -> dict[UUID, Current]:
        shares = shares and not model.tenant_owned
        if shares and isinstance(self.scope, OneTenant):
            await take_advisory_locks(self.connection, self.scope.id, ids)
        return await self._writing(model).current(ids, locked=locked, shares=shares, is_bounded=is_bounded)

    async def add(self, model: EntityModel, rows: Sequence[NewRow], act: Act) -> list[Stored]:
        async with self._holding(model).during(rows, act):
            await self._take_advisory_locks(model, [row.values for row in rows])
            return await self._writing(model).add(rows, act)

    async def change(self, model: EntityModel, changes: Sequence[Change], act: Act) -> list[Stored]:
        async with self._holding(model).during(changes, act):
            if model.asks_other_rows and _locks_some(model, changes):
                await self._lock_referred_rows(model, changes)
            else:
                await self._take_advisory_locks(model, [change.values for change in changes])
            return await self._writing(model).change(changes, act)

    async def remove(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        limits = limits_in(self.scope)
        return await self._remove(self._rows(model, ids), act, version, limits, is_final=False)

    async def purge(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        # A caller may purge every row that they see.
        limits = replace(limits_in(self.scope), touches=NO_LIMITS.touches)
        return await self._remove(self._rows(model, ids), act, version, limits, is_final=True)

    async def restore(self, model: EntityModel, row_id: UUID, act: Act, version: Versions = None) -> Restored:
        restoring = PostgresRestoring(self.connection, self.scope, self.registry, act)
        return await restoring.restore(self._rows(model, [row_id]), version)

    async def _take_advisory_locks(self, model: EntityModel, rows: Sequence[Values]) -> None:
        """Acquire the locks for all rows in one order, before the rule of each row locks its own."""
        if model.asks_other_rows and isinstance(self.scope, OneTenant):
            await take_advisory_locks(self.connection, self.scope.id, shared_references(self.registry, model, rows))

    async def _lock_referred_rows(self, model: EntityModel, changes: Sequence[Change]) -> None:
        tenant, ids = self._tenant(model), [change.id for change in changes]
        stored = await fetch(self.connection, referring_rows(self.registry, model), {"tenant": tenant, "ids": ids})
        rows = [*(dict(row) for row in stored), *(change.values for change in changes)]
        await lock_referred_rows(self.connection, self.registry, model, tenant, rows)

    def _writing(self, model: EntityModel) -> PostgresWriting:
        limits, user = limits_in(self.scope), user_of(self.scope)
        return PostgresWriting(self.connection, self.registry, model, self._tenant(model), limits, user)

    def _holding(self, model: EntityModel) -> FileHolding:
        return FileHolding(self.connection, model, self._tenant(model))

    async def _remove(
        self, rows: RowsByModel, act: Act, version: Versions, limits: Limits, *, is_final: bool
    ) -> list[UUID]:
        removal = PostgresRemoval(self.connection, self.scope, self.registry, act, limits)
        removed = set(await removal.remove(rows, version, is_final=is_final))
        return [row_id for row_id in rows.roots if row_id in removed]

    def _rows(self, model: EntityModel, ids: Sequence[UUID]) -> RowsByModel:
        return RowsByModel(model, self._tenant(model), {row_id: row_id for row_id in ids})

    def _tenant(self, model: EntityModel) -> UUID | None:
        if not model.tenant_owned:
            return None
        if not isinstance(self.scope, OneTenant):
            raise BadRequest("Rows of tenants are written in one tenant at a time.")
        return self.scope.id


def _locks_some(model: EntityModel, changes: Sequence[Change]) -> bool:
    """Return whether the write would lock referenced rows partly itself, partly in rules: in no common order."""
    references = {field.name for field in model.declared if field.reference is not None}
    sent = references & changes[0].values.keys()
    return len(changes) > 1 or bool(sent and sent != references)
