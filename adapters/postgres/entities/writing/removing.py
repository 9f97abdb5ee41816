"""Deletion of rows, and its effect on the rows that refer to them."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from uuid import UUID

import asyncpg
from msgspec.structs import replace

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.writing.removal_statements import (
    ReferringField,
    clear_references,
    count_referring,
    find_referring,
    lock_and_mark,
    lock_rows,
    mark_deleted,
    purge_rows,
    take_along,
    take_lines_back,
    take_mark_back,
)
from adapters.postgres.schema.sql import is_soft
from adapters.postgres.statements.owning import user_of
from adapters.postgres.statements.running import fetch
from application.ports.entities.records import Act, Versions, is_wanted
from domain.entities.declaration import EntityModel, Registry
from domain.entities.owning import Limits
from domain.errors import NotOwn, PreconditionFailed, Referrer, StillReferredTo
from domain.scope import OneTenant, Scope


@dataclass(frozen=True, slots=True)
class RowsByModel:
    """Rows of one model and tenant. ``roots`` maps each row's id to the row with the deletion that cascades to it.

    ``tenant`` is None for entities with rows that all tenants share.
    """

    model: EntityModel
    tenant: UUID | None
    roots: Mapping[UUID, UUID]

    @property
    def values(self) -> dict[str, Any]:
        return {"tenant": self.tenant, "ids": list(self.roots)}

    @property
    def values_with_roots(self) -> dict[str, Any]:
        return {**self.values, "roots": list(self.roots.values())}


Reference = tuple[RowsByModel, ReferringField, bool]
"""Rows, a field that refers to them, and whether their deletion is final."""


@dataclass(slots=True)
class RemovalPlan:
    """Rows that one act deletes, by model and tenant.

    ``is_final`` tells which of them are deleted for good; ``cleared`` are the references to empty, with the rows that
    they lead to; ``restricting`` are rows that forbid the act unless they are deleted too, with the roots that they
    forbid and their fields, None for rows of another tenant. ``restricted`` are references of entities whose rows this
    act cannot delete, with the rows that they lead to. ``along`` are references whose rows go by one statement, with
    the rows that they lead to. ``marked`` are rows that are marked deleted already.
    """

    roots: dict[tuple[EntityModel, UUID | None], dict[UUID, UUID]] = field(default_factory=dict)
    is_final: dict[tuple[EntityModel, UUID], bool] = field(default_factory=dict)
    cleared: list[Reference] = field(default_factory=list)
    along: list[Reference] = field(default_factory=list)
    restricting: dict[tuple[EntityModel, UUID], set[tuple[UUID, str | None]]] = field(default_factory=dict)
    restricted: list[Reference] = field(default_factory=list)
    deletable: frozenset[EntityModel] = frozenset()
    marked: frozenset[UUID] = frozenset()

    def take(self, rows: RowsByModel, *, is_final: bool) -> RowsByModel:
        """Add rows to the plan; return those new to it."""
        # A row planned for soft deletion can still be deleted permanently.
        fresh = {
            row_id: root
            for row_id, root in rows.roots.items()
            if (known := self.is_final.get((rows.model, row_id))) is None or (is_final and not known)
        }
        self.is_final |= {(rows.model, row_id): is_final for row_id in fresh}
        taken = self.roots.setdefault((rows.model, rows.tenant), {})
        taken |= {row_id: root for row_id, root in fresh.items() if row_id not in taken}
        return RowsByModel(rows.model, rows.tenant, fresh)

    def purges_several_entities(self) -> bool:
        return len({model for (model, _), is_final in self.is_final.items() if is_final}) > 1

    def rows(self, *, is_final: bool) -> Iterator[RowsByModel]:
        for (model, tenant), roots in self.roots.items():
            left = {row_id: root for row_id, root in roots.items() if row_id not in self.marked}
            chosen = {row_id: root for row_id, root in left.items() if self.is_final[model, row_id] is is_final}
            if chosen:
                yield RowsByModel(model, tenant, chosen)


@dataclass(frozen=True, slots=True)
class PostgresRemoval:
    """Deletion of rows and their dependents in one transaction."""

    connection: ServiceConnection
    scope: Scope
    registry: Registry
    act: Act
    limits: Limits

    async def remove(self, rows: RowsByModel, version: Versions, *, is_final: bool) -> list[UUID]:
        if rows.model.tenant_owned or not self.registry.is_referred_to(rows.model.plural):
            return await self._remove(rows, version, is_final=is_final)
        # Every tenant can refer to shared rows.
        async with self.connection.widened(self.scope):
            return await self._remove(rows, version, is_final=is_final)

    async def _remove(self, rows: RowsByModel, version: Versions, *, is_final: bool) -> list[UUID]:
        is_final = is_final or not is_soft(rows.model)
        deletable = self._deletable(rows.model)
        # If all deletions are soft, mark the rows at once; with a history only if nothing refuses the deletion later.
        marks = not is_final and all(map(is_soft, deletable))
        marks = marks and (not rows.model.declaration.history or self._is_certain(rows.model, deletable, version))
        # Lock before looking for references: a concurrent writer of a reference holds a lock on the row, and a later
        # one finds the row deleted.
        locking = lock_rows(self.registry, rows.model, self.limits, is_final=is_final)
        # An update does not wait for writers of references as FOR UPDATE does.
        is_single = len(rows.roots) == 1 and not self.registry.is_referred_to(rows.model.plural)
        marking = lock_and_mark(self.registry, rows.model, self.limits, is_single=is_single) if marks else locking
        user = user_of(self.scope)
        found = await fetch(self.connection, marking, {**rows.values, **user, "by": self.act.by, "at": self.act.at})
        plan = RemovalPlan(deletable=deletable, marked=frozenset(row["id"] for row in found if marks))
        try:
            return await self._remove_found(plan, rows, found, version, is_final=is_final)
        except (NotOwn, PreconditionFailed, StillReferredTo):
            # Project code may catch the refusal and continue the transaction.
            if plan.marked:
                await self._take_marks_back(rows, {row["id"]: row["version"] for row in found})
            raise

    def _is_certain(self, model: EntityModel, deletable: Iterable[EntityModel], version: Versions) -> bool:
        """Return whether nothing can refuse the deletion of live rows."""
        if version is not None or self.limits.bind(model, "delete"):
            return False
        referring = (field for each in deletable for _, field in self.registry.referring(each.plural))
        return not any(field.reference is None or field.reference.on_delete == "restrict" for field in referring)

    async def _take_marks_back(self, rows: RowsByModel, versions: Mapping[UUID, int]) -> None:
        values = {**rows.values, "ids": list(versions), "former_versions": list(versions.values())}
        await fetch(self.connection, take_mark_back(self.registry, rows.model), values)
        if rows.model.declaration.changes:
            async with self.connection.widened(self.scope):
                await fetch(self.connection, take_lines_back(rows.model), values)

    async def _remove_found(
        self, plan: RemovalPlan, rows: RowsByModel, found: list[asyncpg.Record], version: Versions, *, is_final: bool
    ) -> list[UUID]:
        ids = [row["id"] for row in found]
        await self._ensure_own(rows, ids, is_final=is_final)
        if not all(is_wanted(version, row["version"]) for row in found):
            raise PreconditionFailed
        roots = {row_id: row_id for row_id in ids}
        await self._gather(plan, RowsByModel(rows.model, rows.tenant, roots), is_final=is_final)
        forbidding = plan.restricting.keys() - plan.is_final.keys()
        read = (
            (root, model.plural, row_id, name)
            for model, row_id in forbidding
            for root, name in plan.restricting[model, row_id]
        )
        if referred := [*StillReferredTo.counted(read), *[pair async for pair in self._counted(plan)]]:
            raise StillReferredTo(ids, referred)
        await self._write(plan, rows.model)
        return ids

    async def _ensure_own(self, rows: RowsByModel, ids: Sequence[UUID], *, is_final: bool) -> None:
        """Raise NotOwn for visible rows that the caller may not delete."""
        if len(ids) == len(rows.roots) or not self.limits.bind(rows.model, "delete"):
            return
        statement = lock_rows(self.registry, rows.model, replace(self.limits, touches=frozenset()), is_final=is_final)
        seen = {row["id"] for row in await fetch(self.connection, statement, {**rows.values, **user_of(self.scope)})}
        if refused := seen - set(ids):
            raise NotOwn(seen | set(ids), refused)

    async def _gather(self, plan: RemovalPlan, rows: RowsByModel, *, is_final: bool) -> None:
        # A list, because a long chain of rows would exceed the recursion limit.
        waiting = [(rows, is_final)]
        while waiting:
            rows, is_final = waiting.pop()
            is_final = is_final or not is_soft(rows.model)
            fresh = plan.take(rows, is_final=is_final)
            plural = rows.model.plural
            leading = [*self.registry.referring(plural), *self.registry.linking(plural)]
            for referring, reference in leading if fresh.roots else ():
                taken_along = await self._follow(plan, fresh, (referring, reference.name), is_final=is_final)
                waiting += [(further, is_final) for further in taken_along]

    async def _follow(
        self, plan: RemovalPlan, rows: RowsByModel, reference: ReferringField, *, is_final: bool
    ) -> list[RowsByModel]:
        """Plan restrict or clear for a reference; return the rows of a cascade."""
        referring, name = reference
        declared = referring.by_name[name].reference or referring.by_name[name].link
        on_delete = declared.on_delete if declared is not None else "restrict"
        if on_delete == "drop":
            return []  # the foreign key ends the links with a permanent deletion
        if on_delete == "clear":
            plan.cleared.append((rows, reference, is_final))
            return []
        if on_delete == "restrict" and referring not in plan.deletable:
            plan.restricted.append((rows, reference, is_final))
            return []
        if on_delete == "cascade" and self._leads_no_further(plan, referring):
            plan.along.append((rows, reference, is_final or not is_soft(referring)))
            return []
        locks = on_delete == "cascade"
        statement = find_referring(self.registry, rows.model, reference, is_final=is_final, locks=locks)
        found = await fetch(self.connection, statement, rows.values)
        if on_delete == "restrict":
            for row in found:
                forbidden = plan.restricting.setdefault((referring, row["id"]), set())
                forbidden.add((rows.roots[row["target"]], name if self._is_ours(row["tenant_id"]) else None))
            return []
        by_tenant = groupby(found, key=lambda row: row["tenant_id"])
        return [
            RowsByModel(referring, tenant, {row["id"]: rows.roots[row["target"]] for row in theirs})
            for tenant, theirs in by_tenant
        ]

    async def _counted(self, plan: RemovalPlan) -> AsyncIterator[tuple[UUID, Referrer | None]]:
        """Return the rows that forbid the deletion, with counts from PostgreSQL, because there may be many."""
        by_referring: dict[EntityModel, list[Reference]] = {}
        for part in _together(plan.restricted):
            by_referring.setdefault(part[1][0], []).append(part)
        for referring, parts in by_referring.items():
            references = tuple((rows.model, name, is_final) for rows, (_, name), is_final in parts)
            values: dict[str, Any] = {"ours": self.scope.id if isinstance(self.scope, OneTenant) else None}
            for number, (rows, _, _) in enumerate(parts):
                values[f"ids_{number}"], values[f"roots_{number}"] = list(rows.roots), list(rows.roots.values())
                values[f"tenant_{number}"] = rows.tenant
            for row in await fetch(self.connection, count_referring(self.registry, referring, references), values):
                is_ours = row["is_ours"]
                yield row["root"], Referrer(referring.plural, tuple(row["names"]), row["count"]) if is_ours else None

    def _deletable(self, root: EntityModel) -> frozenset[EntityModel]:
        found, waiting = {root}, [root]
        while waiting:
            for referring, reference in self.registry.referring(waiting.pop().plural):
                declared = reference.reference
                if declared is not None and declared.on_delete == "cascade" and referring not in found:
                    found.add(referring)
                    waiting.append(referring)
        return frozenset(found)

    def _leads_no_further(self, plan: RemovalPlan, referring: EntityModel) -> bool:
        """Return whether no entity refers to this one, and only one of its fields refers to deletable entities."""
        targets = {model.plural for model in plan.deletable}
        leading = [each for each in referring.declared if each.reference and each.reference.target in targets]
        return len(leading) == 1 and not self.registry.is_referred_to(referring.plural)

    def _is_ours(self, tenant: UUID | None) -> bool:
        return tenant is None or (isinstance(self.scope, OneTenant) and self.scope.id == tenant)

    async def _write(self, plan: RemovalPlan, root: EntityModel) -> None:
        acted = {"by": self.act.by, "at": self.act.at}
        # Delete permanently first: rows that are gone need no deletion mark.
        for rows, reference, is_final in sorted(_together(plan.along), key=lambda going: not going[2]):
            statement = take_along(self.registry, rows.model, reference, is_final=is_final)
            await fetch(self.connection, statement, {**rows.values_with_roots, **acted})
        for rows in plan.rows(is_final=False):
            await fetch(self.connection, mark_deleted(self.registry, rows.model), {**rows.values_with_roots, **acted})
        for rows, reference, is_final in _together(plan.cleared):
            statement = clear_references(self.registry, rows.model, reference, is_final=is_final)
            await fetch(self.connection, statement, {**rows.values, **acted})
        # Delete a row before its target, or the foreign key would refuse.
        order = list(self._referring_first(root, set()))
        if plan.purges_several_entities():
            # Entities can refer to each other in a cycle, where no order satisfies all foreign keys.
            await self.connection.execute("SET CONSTRAINTS ALL DEFERRED")
        for rows in sorted(plan.rows(is_final=True), key=lambda rows: order.index(rows.model)):
            await fetch(self.connection, purge_rows(self.registry, rows.model), {**rows.values, **acted})

    def _referring_first(self, model: EntityModel, seen: set[EntityModel]) -> Iterator[EntityModel]:
        seen.add(model)
        for referring, _ in self.registry.referring(model.plural):
            if referring not in seen:
                yield from self._referring_first(referring, seen)
        yield model


def _together(references: Iterable[Reference]) -> list[Reference]:
    """The references with the rows of each field together: a long chain of rows leads to one reference at each row."""
    roots: dict[tuple[EntityModel, UUID | None, ReferringField, bool], dict[UUID, UUID]] = {}
    for rows, reference, is_final in references:
        roots.setdefault((rows.model, rows.tenant, reference, is_final), {}).update(rows.roots)
    return [
        (RowsByModel(model, tenant, ids), reference, is_final)
        for (model, tenant, reference, is_final), ids in roots.items()
    ]
