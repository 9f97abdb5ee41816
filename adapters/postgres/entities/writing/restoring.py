"""Bringing a deleted row back, and with it what its deletion took along."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

import asyncpg

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.row_encoder import stored
from adapters.postgres.entities.writing import unique_violations
from adapters.postgres.entities.writing.removing import RowsByModel
from adapters.postgres.entities.writing.removing_text import dangling, held, reviving, taken_along
from adapters.postgres.schema.sql import is_soft
from application.ports.entities.records import Act, Stored
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.errors import Conflict, NotFound
from domain.scope import EveryTenant, Scope

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

    async def restore(self, root: RowsByModel) -> Stored:
        """``root`` is one row. Its rows are locked as its deletion locked them: what it took after itself."""
        found = await self.connection.fetchrow(held(root.model), *root.parameters)
        if found is None:
            raise NotFound
        if not found["is_deleted"]:
            raise Conflict(NOT_DELETED)
        if root.model.tenant_owned or not self.registry.referring(root.model.plural):
            return await self._restore(root)
        await self.connection.narrow(EveryTenant())  # what is shared can have taken rows of every tenant along
        stored = await self._restore(root)
        await self.connection.narrow(self.scope)
        return stored

    async def _restore(self, root: RowsByModel) -> Stored:
        (row_id,) = root.roots
        together = [root]
        await self._gather(together, root, row_id)
        answers = [await self._revive(rows, is_root=rows is root) for rows in together]
        for rows in together:
            await self._ensure_references(rows, is_root=rows is root)
        return stored(root.model, answers[0][0])

    async def _gather(self, together: list[RowsByModel], rows: RowsByModel, root: UUID) -> None:
        for reference in self._cascading(rows.model):
            text = taken_along(rows.model, reference)
            found = await self.connection.fetch(text, *rows.parameters, root)
            for tenant, theirs in groupby(found, key=lambda row: row["tenant_id"]):
                known = {one for other in together if other.model is reference[0] for one in other.roots}
                further = RowsByModel(
                    reference[0], tenant, {row["id"]: root for row in theirs if row["id"] not in known}
                )
                if further.roots:
                    together.append(further)
                    await self._gather(together, further, root)

    def _cascading(self, model: EntityModel) -> Iterator[tuple[EntityModel, FieldModel]]:
        for referring, one in self.registry.referring(model.plural):
            if one.reference is not None and one.reference.on_delete == "cascade" and is_soft(referring):
                yield referring, one

    async def _revive(self, rows: RowsByModel, *, is_root: bool) -> list[asyncpg.Record]:
        try:
            return await self.connection.fetch(reviving(rows.model), *rows.parameters, self.act.at, self.act.by)
        except asyncpg.UniqueViolationError as error:
            raise (unique_violations.of_one(rows.model, error) if is_root else Conflict(TAKEN_MEANWHILE)) from None

    async def _ensure_references(self, rows: RowsByModel, *, is_root: bool) -> None:
        """Asked of rows that live again: what comes back together is there for each other."""
        for one in rows.model.declared:
            if one.reference is None:
                continue
            text = dangling(rows.model, one, self.registry[one.reference.target])
            if await self.connection.fetchval(text, *rows.parameters):
                raise Conflict.on(one.wire, STILL_DELETED) if is_root else Conflict(DANGLING)
