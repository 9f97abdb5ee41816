"""Restoration of a deleted row, with the rows that its deletion cascaded to."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

import asyncpg

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.row_encoder import stored
from adapters.postgres.entities.writing import unique_violations
from adapters.postgres.entities.writing.removal_statements import (
    ReferringField,
    find_deleted_with,
    has_dangling,
    lock_row,
    restore_along,
    restore_rows,
)
from adapters.postgres.entities.writing.removing import RowsByModel
from adapters.postgres.schema.sql import is_soft
from adapters.postgres.statements.compiled import CompiledStatement
from adapters.postgres.statements.owning import user_of
from adapters.postgres.statements.running import fetch, fetch_row, fetch_value
from application.ports.entities.records import Act, Restored, Versions, is_wanted
from domain.entities.declaration import EntityModel, Registry
from domain.entities.owning import limits_in
from domain.errors import Conflict, Forbidden, NotFound, PreconditionFailed
from domain.scope import Scope

NOT_DELETED = "It is not deleted."
STILL_DELETED = "refers to something deleted, which must be restored first"
TAKEN_MEANWHILE = "Something that was deleted with it has a value that is taken now."
DANGLING = "Something that was deleted with it refers to what is still deleted."


@dataclass(frozen=True, slots=True)
class PostgresRestoring:
    connection: ServiceConnection
    scope: Scope
    registry: Registry
    act: Act

    async def restore(self, root: RowsByModel, version: Versions) -> Restored:
        """Restore the single row in ``root``, and the rows to which its deletion cascaded."""
        # Lock first, in the same order as a deletion, to prevent deadlocks.
        locking = lock_row(self.registry, root.model, limits_in(self.scope))
        found = await fetch_row(self.connection, locking, {**root.values, **user_of(self.scope)})
        if found is None:
            raise NotFound
        if not found["may_restore"]:
            raise Forbidden
        if not found["is_deleted"]:
            raise Conflict(NOT_DELETED)
        if not is_wanted(version, found["version"]):
            raise PreconditionFailed
        if root.model.tenant_owned or not self.registry.referring(root.model.plural):
            return await self._restore(root)
        # Shared rows can have cascaded to rows of every tenant.
        async with self.connection.widened(self.scope):
            return await self._restore(root)

    async def _restore(self, root: RowsByModel) -> Restored:
        # Rules check restored rows. Project code may catch the refusal and continue the transaction.
        await self.connection.execute("SAVEPOINT restoration")
        try:
            return await self._revived(root)
        except Conflict:
            await self.connection.execute("ROLLBACK TO SAVEPOINT restoration")
            raise

    async def _revived(self, root: RowsByModel) -> Restored:
        along = await self._taken_along(root)
        try:
            (answer,) = await self._revive(root, restore_rows(self.registry, root.model, limits_in(self.scope)))
        except asyncpg.UniqueViolationError as error:
            raise unique_violations.of_single_row(root.model, error) from None
        for rows in along:
            try:
                await self._revive(rows, restore_along(self.registry, rows.model))
            except asyncpg.UniqueViolationError:
                raise Conflict(TAKEN_MEANWHILE) from None
        # Check after all rows are restored, because they may refer to each other.
        await self._ensure_references(root, is_root=True)
        for rows in along:
            await self._ensure_references(rows, is_root=False)
        row = stored(root.model, answer)
        return Restored(row.id, row.version, row.body, tuple((rows.model.plural, tuple(rows.roots)) for rows in along))

    async def _taken_along(self, root: RowsByModel) -> list[RowsByModel]:
        (row_id,) = root.roots
        found: dict[tuple[EntityModel, UUID | None], dict[UUID, UUID]] = {(root.model, root.tenant): {row_id: row_id}}
        waiting = [root]
        while waiting:
            rows = waiting.pop()
            for reference in self._cascading(rows.model):
                statement = find_deleted_with(self.registry, rows.model, reference)
                referring = await fetch(self.connection, statement, {**rows.values, "root": row_id})
                for tenant, theirs in groupby(referring, key=lambda row: row["tenant_id"]):
                    known = found.setdefault((reference[0], tenant), {})
                    fresh = {row["id"]: row_id for row in theirs if row["id"] not in known}
                    known |= fresh
                    waiting += [RowsByModel(reference[0], tenant, fresh)] if fresh else []
        del found[root.model, root.tenant][row_id]
        return [RowsByModel(model, tenant, roots) for (model, tenant), roots in found.items() if roots]

    def _cascading(self, model: EntityModel) -> Iterator[ReferringField]:
        for referring, field in self.registry.referring(model.plural):
            if field.reference is not None and field.reference.on_delete == "cascade" and is_soft(referring):
                yield referring, field.name

    async def _revive(self, rows: RowsByModel, statement: CompiledStatement) -> list[asyncpg.Record]:
        values = {**rows.values, **user_of(self.scope), "by": self.act.by, "at": self.act.at}
        return await fetch(self.connection, statement, values)

    async def _ensure_references(self, rows: RowsByModel, *, is_root: bool) -> None:
        for field in rows.model.declared:
            # The end of a membership clears or refuses references from deleted rows too, or keeps them.
            if field.reference is None or field.reference.on_leave is not None:
                continue
            if await fetch_value(self.connection, has_dangling(self.registry, rows.model, field.name), rows.values):
                raise Conflict.on(field.wire, STILL_DELETED) if is_root else Conflict(DANGLING)
