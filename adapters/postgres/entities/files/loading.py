"""A file's rows into the database: COPY to a temporary table, what is wrong with them, and one write of the rest."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.files import loading_text as texts
from application.ports.entities.files import Loaded, Loading
from domain.entities.declaration import EntityModel, FieldModel, Kind, Registry
from domain.entities.sheets import RowError, sentence
from domain.errors import FieldError

PATIENCE = 600.0
"""Seconds for a statement about a whole file."""
NO_SUCH_ROW = "refers to nothing that exists"
LOOKED_AT = 500
"""Rows whose rules are asked at a time: the loop has others to serve."""


@dataclass
class Load:
    connection: ServiceConnection
    registry: Registry
    model: EntityModel
    tenant: UUID | None
    loading: Loading
    errors: list[RowError] = field(default_factory=list)

    async def run(self, rows: AsyncIterator[bytes]) -> Loaded:
        count = await self._copy(rows)
        if count and self.loading.key is not None:
            await self._ensure_makable(self.loading.key)
        if count:
            await self._ensure_references()
        imported = await (self._add() if self.loading.key is None else self._upsert(self.loading.key)) if count else 0
        return Loaded(imported, count - len(self.errors) - imported, self.errors)

    async def _copy(self, rows: AsyncIterator[bytes]) -> int:
        is_upsert = self.loading.key is not None
        await self._run(texts.incoming(self.model))
        names = texts.columns(self.model, is_upsert=is_upsert)
        said = await self.connection.copy_to_table(
            texts.INCOMING, source=rows, columns=names, format="csv", timeout=PATIENCE
        )
        return int(said.split()[-1])

    async def _ensure_makable(self, key: FieldModel) -> None:
        """Rows that only make sense as a change of one that is there."""
        found = await self._all(texts.unmakable(self.model, key))
        await self._leave_out([RowError(row["n"], row["refused"]) for row in found])

    async def _ensure_references(self) -> None:
        referring = [one for one in self.model.declared if one.reference is not None]
        if not referring:
            return
        wrong: dict[int, list[FieldError]] = {}
        for one in referring:
            assert one.reference is not None
            target = self.registry[one.reference.target]
            for row in await self._all_of(texts.missing(target, one), target):
                wrong.setdefault(row["n"], []).append(FieldError(one.wire, NO_SUCH_ROW))
        await self._leave_out([RowError(n, sentence(fields)) for n, fields in wrong.items()])

    async def _add(self) -> int:
        return await self._counted(texts.adding(self.model), *self._act())

    async def _upsert(self, key: FieldModel) -> int:
        await self._run(texts.locking(self.model, key), *self._tenant())
        if self.model.has_rule:
            await self._ensure_rules(key)
        await self._run(texts.doubles(self.model, key))
        if len(self.model.unique) > 1:
            return await self._one_by_one(key)
        changed = await self._counted(texts.changing(self.model, key), *self._act())
        return changed + await self._counted(texts.adding(self.model, key), *self._act())

    async def _one_by_one(self, key: FieldModel) -> int:
        """Where a change may take a value that another row has: each row stands or is skipped on its own."""
        imported = 0
        for row in await self._all('SELECT "row n" AS n FROM "tenantry incoming" ORDER BY 1'):
            imported += await self._one(key, row["n"])
        return imported

    async def _one(self, key: FieldModel, n: int) -> int:
        await self._run("SAVEPOINT row")
        try:
            found = await self._counted(texts.changing(self.model, key, is_one=True), *self._act(), n)
            made = 0 if found else await self._counted(texts.adding(self.model, key, is_one=True), *self._act(), n)
        except asyncpg.UniqueViolationError:
            await self._run("ROLLBACK TO SAVEPOINT row")
            return 0
        await self._run("RELEASE SAVEPOINT row")
        return found + made

    async def _ensure_rules(self, key: FieldModel) -> None:
        """What the entity itself says of rows that change: the new ones were asked when they were read."""
        last = 0
        while found := await self._all(texts.changes(self.model, key), last, LOOKED_AT):
            await self._leave_out(list(self._broken(found)))
            last = found[-1]["n"]

    def _broken(self, found: Sequence[Any]) -> Iterator[RowError]:
        for row in found:
            before, after = (self._values(row, which) for which in ("old", "new"))
            if broken := self.model.broken_rules(after, before):
                yield RowError(row["n"], sentence(broken))

    def _values(self, row: Any, which: str) -> Mapping[str, object]:
        return {one.name: _held(one, row[f"{which} {one.name}"]) for one in self.model.declared}

    async def _leave_out(self, errors: Sequence[RowError]) -> None:
        if errors:
            self.errors += errors
            await self._run(texts.LEAVING_OUT, [error.row for error in errors])

    async def _run(self, text: str, *values: object) -> str:
        return await self.connection.execute(text, *values, timeout=PATIENCE)

    async def _counted(self, text: str, *values: object) -> int:
        return int(await self.connection.fetchval(text, *values, timeout=PATIENCE))

    async def _all(self, text: str, *values: object) -> Sequence[Any]:
        return await self.connection.fetch(text, *self._tenant(), *values, timeout=PATIENCE)

    async def _all_of(self, text: str, target: EntityModel) -> Sequence[Any]:
        return await self.connection.fetch(text, *self._tenant_of(target), timeout=PATIENCE)

    def _tenant(self) -> list[UUID]:
        return self._tenant_of(self.model)

    def _tenant_of(self, model: EntityModel) -> list[UUID]:
        return [self.tenant] if model.tenant_owned and self.tenant is not None else []

    def _act(self) -> list[object]:
        return [*self._tenant(), self.loading.act.by, self.loading.act.at]


def _held(one: FieldModel, value: Any) -> Any:
    """The value as the entity's own struct holds it."""
    return msgspec.convert(value, one.type) if one.kind is Kind.CHOICE else value
