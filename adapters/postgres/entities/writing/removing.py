"""Deleting rows, and what their deletion does to the rows that refer to them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.writing.removing_text import clearing, finding, locking, marking, purging
from adapters.postgres.schema.sql import is_soft
from application.ports.entities.records import Act
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.errors import Conflict, PreconditionFailed
from domain.scope import EveryTenant, Scope

STILL_REFERRED_TO = "Something still refers to it."


@dataclass(frozen=True, slots=True)
class RowsByModel:
    """Rows of a model, of one tenant where tenants own them: each id with that of the row it goes along with."""

    model: EntityModel
    tenant: UUID | None
    roots: Mapping[UUID, UUID]

    @property
    def owner(self) -> list[UUID]:
        return [self.tenant] if self.model.tenant_owned and self.tenant is not None else []

    @property
    def parameters(self) -> list[object]:
        return [*self.owner, list(self.roots)]


@dataclass(slots=True)
class Going:
    """What one act takes, by model and tenant; what it empties; and what is in its way unless it goes too."""

    roots: dict[tuple[EntityModel, UUID | None], dict[UUID, UUID]] = field(default_factory=dict)
    is_final: dict[tuple[EntityModel, UUID], bool] = field(default_factory=dict)
    cleared: list[tuple[RowsByModel, EntityModel, FieldModel, bool]] = field(default_factory=list)
    restricting: set[tuple[EntityModel, UUID]] = field(default_factory=set)

    def take(self, rows: RowsByModel, *, is_final: bool) -> RowsByModel:
        """Those not taken yet; what was only to be marked can still be taken for good."""
        fresh = {
            row_id: root
            for row_id, root in rows.roots.items()
            if (known := self.is_final.get((rows.model, row_id))) is None or (is_final and not known)
        }
        self.is_final |= {(rows.model, row_id): is_final for row_id in fresh}
        taken = self.roots.setdefault((rows.model, rows.tenant), {})
        taken |= {one: root for one, root in fresh.items() if one not in taken}
        return RowsByModel(rows.model, rows.tenant, fresh)

    def is_of_several(self) -> bool:
        """Whether rows of more than one entity go for good."""
        return len({model for (model, _), is_final in self.is_final.items() if is_final}) > 1

    def of(self, *, is_final: bool) -> Iterator[RowsByModel]:
        for (model, tenant), roots in self.roots.items():
            some = {one: root for one, root in roots.items() if self.is_final[model, one] is is_final}
            if some:
                yield RowsByModel(model, tenant, some)


@dataclass(frozen=True, slots=True)
class PostgresRemoval:
    """One act of deleting. Rows are locked before anybody looks for references to them: whoever has just referred
    to one holds it, and is waited for; whoever comes after finds it gone."""

    connection: ServiceConnection
    scope: Scope
    registry: Registry
    act: Act

    async def remove(self, rows: RowsByModel, version: int | None, *, is_final: bool) -> list[UUID]:
        if rows.model.tenant_owned or not self.registry.referring(rows.model.plural):
            return await self._remove(rows, version, is_final=is_final)
        await self.connection.narrow(EveryTenant())  # what is shared can be referred to by every tenant
        gone = await self._remove(rows, version, is_final=is_final)
        await self.connection.narrow(self.scope)
        return gone

    async def _remove(self, rows: RowsByModel, version: int | None, *, is_final: bool) -> list[UUID]:
        is_final = is_final or not is_soft(rows.model)
        found = await self.connection.fetch(locking(rows.model, is_final=is_final), *rows.parameters)
        if version is not None and any(row["version"] != version for row in found):
            raise PreconditionFailed
        gone, going = [row["id"] for row in found], Going()
        await self._gather(going, RowsByModel(rows.model, rows.tenant, {one: one for one in gone}), is_final=is_final)
        if going.restricting - going.is_final.keys():
            raise Conflict(STILL_REFERRED_TO)
        await self._write(going, rows.model)
        return gone

    async def _gather(self, going: Going, rows: RowsByModel, *, is_final: bool) -> None:
        """``is_final``: they go for good, because what they refer to does; those marked deleted go too."""
        is_final = is_final or not is_soft(rows.model)
        fresh = going.take(rows, is_final=is_final)
        for referring, one in self.registry.referring(rows.model.plural) if fresh.roots else ():
            await self._settle(going, fresh, (referring, one), is_final=is_final)

    async def _settle(
        self, going: Going, gone: RowsByModel, reference: tuple[EntityModel, FieldModel], *, is_final: bool
    ) -> None:
        referring, one = reference
        on_delete = one.reference.on_delete if one.reference is not None else "restrict"
        if on_delete == "clear":
            going.cleared.append((gone, referring, one, is_final))
            return
        text = finding(gone.model, reference, is_final=is_final, locks=on_delete == "cascade")
        found = await self.connection.fetch(text, *gone.parameters)
        if on_delete == "restrict":
            going.restricting |= {(referring, row["id"]) for row in found}
            return
        for tenant, rows in groupby(found, key=lambda row: row["tenant_id"]):
            roots = {row["id"]: gone.roots[row["target"]] for row in rows}
            await self._gather(going, RowsByModel(referring, tenant, roots), is_final=is_final)

    async def _write(self, going: Going, root: EntityModel) -> None:
        """What goes for good goes last, and before what it refers to."""
        by, at = self.act.by, self.act.at
        for rows in going.of(is_final=False):
            await self.connection.execute(marking(rows.model), *rows.parameters, list(rows.roots.values()), at, by)
        for rows, referring, one, is_final in going.cleared:
            text = clearing(rows.model, (referring, one), is_final=is_final)
            await self.connection.execute(text, *rows.parameters, at, by)
        order = list(self._referring_first(root, set()))
        if going.is_of_several():
            await self.connection.execute("SET CONSTRAINTS ALL DEFERRED")  # entities can refer to each other in a ring
        for rows in sorted(going.of(is_final=True), key=lambda rows: order.index(rows.model)):
            acted = [at, by] if rows.model.declaration.history else []
            await self.connection.execute(purging(rows.model), *rows.parameters, *acted)

    def _referring_first(self, model: EntityModel, seen: set[EntityModel]) -> Iterator[EntityModel]:
        seen.add(model)
        for referring, _ in self.registry.referring(model.plural):
            if referring not in seen:
                yield from self._referring_first(referring, seen)
        yield model
