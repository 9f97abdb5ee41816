"""Histories: one entry per row version. The statement that writes the version also writes its entry."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from uuid import UUID

import asyncpg
import msgspec
import sqlalchemy as sa
from sqlalchemy import CTE, func
from sqlalchemy.dialects.postgresql import JSON

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.page_bounds import within_bound
from adapters.postgres.entities.tables import HISTORY as LINES
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.json_values import json_value
from adapters.postgres.statements.rows import Truth, Value, of_tenant
from adapters.postgres.statements.running import fetch, fetch_value
from adapters.postgres.statements.writing import AT, BY, next_version
from application.ports.entities.history import Action, Entry, FieldChange
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.query.responses import too_large_page
from domain.scope import OneTenant, Scope

# These statements do not depend on the declared entities.

_NONE = sa.cast(constant("[]"), JSON())
_NULL = sa.cast(sa.null(), JSON())

DataChange = sa.Insert | sa.Update | sa.Delete


def history_lines(model: EntityModel, action: Action, written: CTE, before: CTE | None = None) -> list[CTE]:
    """Return the CTE that writes history entries; empty for entities without a history.

    ``written`` has the rows after the write, ``before`` those before an update. Entries of deleted, restored or purged
    rows have no changes.
    """
    if not model.declaration.history:
        return []
    line = {
        "tenant_id": written.c.tenant_id if model.tenant_owned else sa.cast(sa.null(), sa.Uuid()),
        "entity": constant(model.plural),
        "row_id": written.c.id,
        # A history entry needs a version, but a purge writes no row version, so use the next number.
        "version": next_version(written) if action == "purged" else written.c.version,
        "action": constant(action),
        "at": AT,
        "by": BY,
        "changes": _changes(model, action, written, before),
    }
    rows = written if before is None else written.join(before, is_new_version(model, written, before))
    lines = sa.select(*line.values()).select_from(rows)
    # Without RETURNING, Citus copies the lines to their node by COPY, which row-level security refuses.
    recorded = sa.insert(LINES).from_select(list(line), lines).returning(LINES.c.version)
    return [recorded.cte("recorded lines")]


def is_new_version(model: EntityModel, written: CTE, before: CTE) -> Truth:
    """Match a written row with its former version, unless the write raised no version."""
    same = [before.c.tenant_id == written.c.tenant_id] if model.tenant_owned else []
    return sa.and_(before.c.id == written.c.id, before.c.version != written.c.version, *same)


def _changes(model: EntityModel, action: Action, written: CTE, before: CTE | None) -> Value:
    """JSON array of the fields that differ: ``[{"field": "name", "from": "a", "to": "b"}]``."""
    if action not in ("created", "changed") or not model.declared:
        return _NONE
    columns = [sa.column("field"), sa.column("was", JSON()), sa.column("now", JSON()), sa.column("differs")]
    # A change without links has no column for them.
    fields = [field for field in model.declared if field.name in written.c]
    pairs = sa.values(*columns, name="c").data([_pair(field, written, before) for field in fields])
    named = {"field": pairs.c.field, "from": pairs.c.was, "to": pairs.c.now}
    change = func.json_build_object(*(part for name, value in named.items() for part in (constant(name), value)))
    changes = sa.select(func.coalesce(func.json_agg(change), _NONE)).where(pairs.c.differs)
    return changes.correlate(written, *([] if before is None else [before])).scalar_subquery()


def _pair(field: FieldModel, written: CTE, before: CTE | None) -> tuple[Value, ...]:
    now = written.c[field.name]
    if before is None:
        return constant(field.wire), _NULL, func.to_json(json_value(field, now)), now.is_not(None)
    was = before.c[field.name]
    as_json = [func.to_json(json_value(field, column)) for column in (was, now)]
    return constant(field.wire), *as_json, was.is_distinct_from(now)


# PostgreSQL refuses an OFFSET larger than a bigint.
_MOST_PASSED_OVER = 2**62

Owner = Literal["shared", "tenant", "every tenant"]


@dataclass(frozen=True, slots=True)
class PostgresHistory:
    connection: ServiceConnection
    scope: Scope

    async def page(self, model: EntityModel, row_id: UUID, offset: int, size: int) -> tuple[list[Entry], int]:
        owner = self._owner(model)
        values = {
            "tenant": self.scope.id if isinstance(self.scope, OneTenant) else None,
            "entity": model.plural,
            "row": row_id,
            "size": size,
            "offset": min(offset, _MOST_PASSED_OVER),
        }
        try:
            rows = await fetch(self.connection, page_statement(owner), values)
        except asyncpg.InvalidArgumentForPowerFunctionError:
            raise too_large_page() from None
        entries = [Entry(row[0], row[1], row[2], row[3], _read(row[4])) for row in rows]
        if len(entries) < size and (entries or not offset):
            return entries, offset + len(entries)  # the last page gives the total
        total = await fetch_value(self.connection, count_statement(owner), values)
        return entries, int(total)

    def _owner(self, model: EntityModel) -> Owner:
        if not model.tenant_owned:
            return "shared"
        return "tenant" if isinstance(self.scope, OneTenant) else "every tenant"


@lru_cache
def count_statement(owner: Owner) -> CompiledStatement:
    return compiled(sa.select(func.count()).select_from(LINES).where(*_of_row(owner)))


@lru_cache
def page_statement(owner: Owner) -> CompiledStatement:
    size, offset = parameter("size", sa.Integer()), parameter("offset", sa.BigInteger())
    found = sa.select(LINES).where(*_of_row(owner)).order_by(LINES.c.version.desc()).limit(size).offset(offset)
    line = found.subquery("found").c
    sizes = [func.octet_length(sa.cast(line.changes, sa.Text()))]
    version = within_bound(line.version, line.version, sizes, every=True)
    page = sa.select(version.label("version"), line.action, line.at, line.by, line.changes)
    return compiled(page.order_by(line.version.desc()))


def _of_row(owner: Owner) -> list[Truth]:
    owners: dict[Owner, list[Truth]] = {
        "shared": [LINES.c.tenant_id.is_(None)],
        "tenant": [of_tenant(LINES)],
        "every tenant": [],
    }
    row = [LINES.c.entity == parameter("entity", sa.Text()), LINES.c.row_id == parameter("row", sa.Uuid())]
    return [*owners[owner], *row]


def _read(changes: msgspec.Raw) -> tuple[FieldChange, ...]:
    return msgspec.json.decode(changes, type=tuple[FieldChange, ...])
