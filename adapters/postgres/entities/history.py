"""Histories: one line for each version of a row, written by the statement that makes the version."""

from dataclasses import dataclass
from uuid import UUID

import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.json import json_value
from adapters.postgres.schema.sql import sql_literal
from application.ports.entities.history import Action, Entry, FieldChange
from domain.entities.declaration import EntityModel
from domain.scope import OneTenant, Scope


def recording(model: EntityModel, action: Action, by: str, at: str) -> str:
    """A further part of a WITH whose ``written`` holds the rows as they are now; ``changed`` also needs ``before``.

    A row that is created has its values instead of nulls; one that is deleted or restored keeps them all.
    """
    tenant = "w.tenant_id" if model.tenant_owned else "NULL::uuid"
    old = "JOIN before b ON b.id = w.id AND b.version <> w.version" if action == "changed" else ""
    if action == "changed" and model.tenant_owned:
        old += " AND b.tenant_id = w.tenant_id"
    version = "w.version + 1" if action == "purged" else "w.version"
    return f"""recorded AS (
    INSERT INTO row_history (tenant_id, entity, row_id, version, action, at, by, changes)
    SELECT {tenant}, {sql_literal(model.plural)}, w.id, {version}, '{action}', {at}, {by}, {_changes(model, action)}
    FROM written w {old})"""


def _changes(model: EntityModel, action: Action) -> str:
    if action not in ("created", "changed") or not model.declared:
        return "'[]'::json"
    pairs = []
    for one in model.declared:
        now, column = f"to_json({json_value(one, 'w')})", f'"{one.name}"'
        was = f"to_json({json_value(one, 'b')})" if action == "changed" else "NULL::json"
        differs = f"b.{column} IS DISTINCT FROM w.{column}" if action == "changed" else f"w.{column} IS NOT NULL"
        pairs.append(f"({sql_literal(one.wire)}, {was}, {now}, {differs})")
    change = "json_build_object('field', c.field, 'from', c.was, 'to', c.now)"
    return f"""(SELECT coalesce(json_agg({change}), '[]'::json)
        FROM (VALUES {", ".join(pairs)}) c (field, was, now, differs) WHERE c.differs)"""


_MOST_PASSED_OVER = 2**62


@dataclass(frozen=True, slots=True)
class PostgresHistory:
    connection: ServiceConnection
    scope: Scope

    async def page(self, model: EntityModel, row_id: UUID, offset: int, size: int) -> tuple[list[Entry], int]:
        owner, tenant = self._owner(model)
        lines = f"FROM row_history WHERE {owner} AND entity = $1 AND row_id = $2"
        total = await self.connection.fetchval(f"SELECT count(*) {lines}", model.plural, row_id, *tenant)
        window = f"ORDER BY version DESC LIMIT {size:d} OFFSET {min(offset, _MOST_PASSED_OVER):d}"
        rows = await self.connection.fetch(
            f"SELECT version, action, at, by, changes {lines} {window}", model.plural, row_id, *tenant
        )
        return [Entry(row[0], row[1], row[2], row[3], _read(row[4])) for row in rows], int(total)

    def _owner(self, model: EntityModel) -> tuple[str, list[UUID]]:
        """The first wall: a statement names the tenant itself, and its parameter."""
        if not model.tenant_owned:
            return "tenant_id IS NULL", []
        return ("tenant_id = $3", [self.scope.id]) if isinstance(self.scope, OneTenant) else ("true", [])


def _read(changes: msgspec.Raw) -> tuple[FieldChange, ...]:
    return msgspec.json.decode(changes, type=tuple[FieldChange, ...])
