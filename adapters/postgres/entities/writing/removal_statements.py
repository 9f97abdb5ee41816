"""Statements that delete and restore rows of an entity.

Arguments: ``tenant``, ``ids``, and others named in the docstrings.

``model`` is the entity of the deleted rows, ``reference`` a field that refers to them.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import FromClause, Select, func
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.selectable import NamedFromClause

from adapters.postgres.entities.attachments.holding import released_with
from adapters.postgres.entities.changes.tables import QUEUE
from adapters.postgres.entities.recording import is_recorded, record_lines, with_records
from adapters.postgres.entities.tables import FILES, SHARES
from adapters.postgres.entities.writing.link_statements import stored_links
from adapters.postgres.schema.sql import DELETED_WITH, is_soft
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.links import junction_of
from adapters.postgres.statements.owning import reachable, touchable, visible, visible_deleted
from adapters.postgres.statements.rows import Truth, Value, key_rows, living, of_tenant, owner, table_of
from adapters.postgres.statements.writing import (
    AT,
    BY,
    IDS,
    REMEMBERED,
    exists_in,
    held_rows,
    is_among,
    materialized,
    next_version,
    stored_columns,
    update_columns,
    version_of,
)
from domain.entities.declaration import EntityModel, Registry
from domain.entities.owning import NO_LIMITS, Limits
from domain.errors import MOST_COUNTED

ReferringField = tuple[EntityModel, str]
"""An entity, and the name of its field that refers to the deleted rows."""

_NOT_DELETED: dict[str, Value] = {
    "is_deleted": sa.false(),
    "deleted_at": sa.null(),
    "deleted_by": sa.null(),
    DELETED_WITH: sa.null(),
}
"""Values of a row without a deletion mark."""


@lru_cache(REMEMBERED)
def lock_rows(registry: Registry, model: EntityModel, limits: Limits, *, is_final: bool) -> CompiledStatement:
    """Lock the rows that the caller may delete, and select their versions; ``is_final`` includes soft-deleted rows."""
    held = key_rows(registry, model, "t") if model.declaration.is_view else table_of(registry, model)
    which = [*owner(model, held), *visible(registry, model, held, limits)]
    which += touchable(registry, model, held, limits, "delete")
    which += [] if is_final else living(model, held)
    rows = sa.select(held.c.id, version_of(held).label("version")).where(*which, is_among(held.c.id))
    return compiled(rows.order_by(held.c.id).with_for_update())


@lru_cache(REMEMBERED)
def find_referring(
    registry: Registry, model: EntityModel, reference: ReferringField, *, is_final: bool, locks: bool
) -> CompiledStatement:
    """Select the rows that refer to ``ids``, ordered by tenant: ``tenant_id``, ``id`` and ``target``."""
    referring, name = reference
    table = table_of(registry, referring)
    source, target = _references(registry, referring, name, table)
    rows = _by_tenant(referring, table, target.label("target")).select_from(source)
    rows = rows.where(*_refers(model, referring, table, target, is_final=is_final))
    return compiled(rows.with_for_update() if locks else rows)


@lru_cache(REMEMBERED)
def count_referring(
    registry: Registry, referring: EntityModel, references: tuple[tuple[EntityModel, str, bool], ...]
) -> CompiledStatement:
    """Return the statement that counts referring rows by ``root``, ``is_ours`` and the ``names`` of their fields.

    Counting stops above ``MOST_COUNTED`` rows for each id and field, and at the first row of other tenants.

    A reference is a target entity, a field, and whether soft-deleted rows count. Arguments by its number: ``ids_0``,
    ``roots_0`` and ``tenant_0``; ``ours`` is the tenant that may see the rows.
    """
    parts = []
    for number, (model, name, is_final) in enumerate(references):
        table = table_of(registry, referring).alias(f"r{number}")
        arrays = (parameter(f"{each}_{number}", ARRAY(sa.Uuid())) for each in ("ids", "roots"))
        going = func.unnest(*arrays).table_valued(sa.column("id", sa.Uuid()), sa.column("root", sa.Uuid()))
        going = going.render_derived(name=f"g{number}")
        tenant = table.c.tenant_id if referring.tenant_owned else sa.cast(sa.null(), sa.Uuid())
        source, target = _references(registry, referring, name, table)
        refers = [target == going.c.id, *([] if is_final else living(referring, table))]
        if model.tenant_owned:
            refers.append(table.c.tenant_id == parameter(f"tenant_{number}", sa.Uuid()))
        named = constant(name, sa.Text()).label("name")
        ours = tenant.is_not_distinct_from(parameter("ours", sa.Uuid()))
        is_foreign = referring.tenant_owned and not model.tenant_owned
        apart: list[tuple[list[Truth], int]] = [([ours], MOST_COUNTED + 1), ([~ours], 1)]
        for place, (whose, most) in enumerate(apart if is_foreign else [([], MOST_COUNTED + 1)]):
            first = sa.select(tenant.label("tenant"), table.c.id).select_from(source).where(*refers, *whose)
            first = first.limit(constant(most))
            few = first.correlate(going).lateral(f"s{number}_{place}")
            columns = few.c.tenant, few.c.id, going.c.root, named
            parts.append(sa.select(*columns).select_from(going.join(few, sa.true())))
    found = sa.union_all(*parts).subquery("found")
    names = func.array_agg(sa.distinct(found.c.name)).label("names")
    is_ours = found.c.tenant.is_(None) | (found.c.tenant == parameter("ours", sa.Uuid()))
    rows = sa.select(found.c.root, func.coalesce(is_ours, sa.false()).label("is_ours"), names)
    each = rows.group_by(found.c.tenant, found.c.id, found.c.root).subquery("each")
    counted = sa.select(each.c.root, each.c.is_ours, each.c.names, func.count().label("count"))
    return compiled(counted.group_by(each.c.root, each.c.is_ours, each.c.names))


@lru_cache(REMEMBERED)
def mark_deleted(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Soft-delete the rows, by ``by`` at ``at``; ``roots`` has, for each id, the row with the cascading deletion."""
    table, going = table_of(registry, model), _with_roots()
    change = sa.update(table).values(_marked(table, going.c.root))
    return compiled(
        with_records(registry, model, "deleted", change.where(*owner(model, table), table.c.id == going.c.id))
    )


@lru_cache(REMEMBERED)
def take_along(
    registry: Registry, model: EntityModel, reference: ReferringField, *, is_final: bool
) -> CompiledStatement:
    """Return the statement to delete the rows that refer to ``ids``: softly, each with the root of its target, or
    permanently.

    Use it only if no other cascade reaches these rows and no row refers to them. It returns no rows, because their
    number has no limit.
    """
    referring, name = reference
    table = table_of(registry, referring)
    refers = _refers(model, referring, table, table.c[name], is_final=is_final)
    # Join the roots afterwards: Citus cannot read the result of a locking CTE with a join.
    rows = _by_tenant(referring, table, table.c[name].label("target")).where(*refers)
    held = materialized(rows.with_for_update(), "held rows")
    same = [table.c.tenant_id == held.c.tenant_id] if referring.tenant_owned else []
    # Name the tenant, so that a distributed database runs the statement on one node.
    same = [of_tenant(table)] if model.tenant_owned else same
    same.append(table.c.id == held.c.id)
    if is_final:
        purged = with_records(registry, referring, "purged", sa.delete(table).where(*same))
        return compiled(_with_rows(referring, purged, lambda rows: [_is_of(rows, held)]))
    going = _with_roots()
    change = sa.update(table).values(_marked(table, going.c.root)).where(*same, held.c.target == going.c.id)
    return compiled(with_records(registry, referring, "deleted", change))


@lru_cache(REMEMBERED)
def lock_and_mark(
    registry: Registry, model: EntityModel, limits: Limits, *, is_single: bool = False
) -> CompiledStatement:
    """Return one statement for ``lock_rows`` and ``mark_deleted``, for rows deleted individually; it selects their
    former versions.

    For an entity with a history, nothing may refuse the deletion afterwards: ``take_mark_back`` cannot undo entries of
    the history. With ``is_single``, there is one id, to which nothing refers.
    """
    table = table_of(registry, model)
    reached = [*reachable(registry, model, table, limits, "delete"), is_among(table.c.id)]
    if is_single:
        change = sa.update(table).values(_marked(table, table.c.id)).where(*reached)
    else:
        held = materialized(sa.select(table.c.id).where(*reached).order_by(table.c.id).with_for_update(), "held rows")
        change = sa.update(table).values(_marked(table, held.c.id))
        change = change.where(*owner(model, table), table.c.id == held.c.id)
    if not is_recorded(model):
        return compiled(change.returning(table.c.id, _former_version(table)))
    written = change.returning(*table.c).cte("written rows")
    lines = record_lines(registry, model, "deleted", written)
    return compiled(sa.select(written.c.id, _former_version(written)).add_cte(*lines))


def _former_version(rows: FromClause) -> sa.Label[int]:
    return (rows.c.version - constant(1)).label("version")


@lru_cache(REMEMBERED)
def take_mark_back(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Undo ``lock_and_mark`` in its transaction, including the versions."""
    table = table_of(registry, model)
    before = {**_NOT_DELETED, "version": table.c.version - constant(1)}
    return compiled(sa.update(table).values(before).where(*_these(model, table)))


@lru_cache(REMEMBERED)
def take_lines_back(model: EntityModel) -> CompiledStatement:
    """Delete the entries of ``lock_and_mark`` in its transaction, under the scope of every tenant.

    ``former_versions`` are those of the rows ``ids`` before.
    """
    versions = parameter("former_versions", ARRAY(sa.Integer()))
    marked = func.unnest(IDS, versions).table_valued(sa.column("id", sa.Uuid()), sa.column("version", sa.Integer()))
    marked = marked.render_derived(name="g")
    same = QUEUE.c.row_id == marked.c.id, QUEUE.c.version == next_version(marked)
    return compiled(sa.delete(QUEUE).where(*owner(model, QUEUE), QUEUE.c.entity == constant(model.plural), *same))


@lru_cache(REMEMBERED)
def clear_references(
    registry: Registry, model: EntityModel, reference: ReferringField, *, is_final: bool
) -> CompiledStatement:
    """Set references to these rows to null, by ``by`` at ``at``; ``is_final`` includes those of soft-deleted rows."""
    referring, name = reference
    table = table_of(registry, referring)
    rows = sa.select(table).where(*_refers(model, referring, table, table.c[name], is_final=is_final))
    before = materialized(rows.order_by(table.c.id).with_for_update(key_share=True), "rows before")
    change = sa.update(table).values({name: sa.null(), **update_columns(table)}).where(table.c.id == before.c.id)
    if referring.tenant_owned:
        change = change.where(table.c.tenant_id == before.c.tenant_id)
    return compiled(with_records(registry, referring, "changed", change, before))


@lru_cache(REMEMBERED)
def purge_rows(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Delete the rows; a recorded entity also needs ``by`` and ``at``."""
    table = table_of(registry, model)
    purged = with_records(registry, model, "purged", sa.delete(table).where(*_these(model, table)))
    return compiled(_with_rows(model, purged, lambda rows: [of_tenant(rows), is_among(rows.c.row_id)]))


@lru_cache(REMEMBERED)
def lock_row(registry: Registry, model: EntityModel, limits: Limits) -> CompiledStatement:
    """Lock the row to restore; select its version, whether it is deleted, and whether the caller may restore it."""
    table = table_of(registry, model)
    is_deleted = table.c.is_deleted if is_soft(model) else sa.false().label("is_deleted")
    may_restore = sa.and_(sa.true(), *touchable(registry, model, table, limits, "delete"))
    row = sa.select(version_of(table).label("version"), is_deleted, may_restore.label("may_restore"))
    seen = [*visible(registry, model, table, limits), *visible_deleted(registry, model, table, limits)]
    return compiled(row.where(*_these(model, table), *seen).with_for_update())


@lru_cache(REMEMBERED)
def find_deleted_with(registry: Registry, model: EntityModel, reference: ReferringField) -> CompiledStatement:
    """Lock the referring rows that the deletion of ``root`` cascaded to, ordered by tenant."""
    referring, name = reference
    table = table_of(registry, referring)
    rows = _by_tenant(referring, table).where(*_refers(model, referring, table, table.c[name], is_final=True))
    taken_along = table.c[DELETED_WITH] == parameter("root", sa.Uuid())
    return compiled(rows.where(table.c.is_deleted, taken_along).with_for_update())


@lru_cache(REMEMBERED)
def restore_rows(registry: Registry, model: EntityModel, limits: Limits) -> CompiledStatement:
    """Restore the rows, by ``by`` at ``at``, and return them as in a response, then their ids and versions."""
    change, before = _restored(registry, model)
    written = change.returning(*table_of(registry, model).c).cte("written rows")
    columns = stored_columns(model, written, stored_links(registry, model, written, limits))
    return compiled(sa.select(*columns).add_cte(*record_lines(registry, model, "restored", written, before)))


@lru_cache(REMEMBERED)
def restore_along(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Restore any number of rows, by ``by`` at ``at``, and return none."""
    change, before = _restored(registry, model)
    return compiled(with_records(registry, model, "restored", change, before))


@lru_cache(REMEMBERED)
def has_dangling(registry: Registry, model: EntityModel, name: str) -> CompiledStatement:
    """Return the statement to lock the rows that the field references, and select whether one of them is not live."""
    table = table_of(registry, model)
    field, column = model.by_name[name], table.c[name]
    held = held_rows(registry, model, field, sa.select(column).where(*_these(model, table)), NO_LIMITS)
    absent = column.is_not(None), column.not_in(sa.select(held.c.id))
    return compiled(sa.select(exists_in(table, *_these(model, table), *absent)))


def _with_rows(model: EntityModel, purged: Any, which: Callable[[sa.Table], list[Truth]]) -> Any:
    """Add the ends of the purged rows' shares and files to a statement; ``which`` are conditions of both tables."""
    if model.declaration.shared:
        ended = sa.delete(SHARES).where(SHARES.c.entity == constant(model.plural), *which(SHARES))
        purged = purged.add_cte(ended.cte("ended shares"))
    return purged.add_cte(released_with(model, which(FILES))) if model.attachments else purged


def _is_of(rows: sa.Table, held: sa.CTE) -> Truth:
    return sa.tuple_(rows.c.tenant_id, rows.c.row_id).in_(sa.select(held.c.tenant_id, held.c.id))


def _with_roots() -> FromClause:
    """Return a table of ``ids``, each with the root of its cascade."""
    going = func.unnest(IDS, parameter("roots", ARRAY(sa.Uuid()))).table_valued(
        sa.column("id", sa.Uuid()), sa.column("root", sa.Uuid())
    )
    return going.render_derived(name="g")


def _marked(rows: sa.Table, root: Value) -> dict[str, Value]:
    mark = {"is_deleted": sa.true(), "deleted_at": AT, "deleted_by": BY, DELETED_WITH: root}
    return {**mark, "version": next_version(rows)}


def _restored(registry: Registry, model: EntityModel) -> tuple[sa.Update, sa.CTE | None]:
    """Return the restoration, and the rows before it if the log records them."""
    table = table_of(registry, model)
    change = sa.update(table).values({**_NOT_DELETED, **update_columns(table)}).where(*_these(model, table))
    if not model.declaration.changes:
        return change, None
    before = materialized(sa.select(table).where(*_these(model, table)).with_for_update(), "rows before")
    return change.where(table.c.id == before.c.id), before


def _by_tenant(model: EntityModel, table: sa.Table, *columns: sa.Label[Any]) -> Select[Any]:
    tenant = table.c.tenant_id if model.tenant_owned else sa.cast(sa.null(), sa.Uuid()).label("tenant_id")
    return sa.select(tenant, table.c.id, *columns).order_by(tenant, table.c.id)


def _these(model: EntityModel, rows: FromClause) -> list[Truth]:
    return [*owner(model, rows), is_among(rows.c.id)]


def _references(
    registry: Registry, referring: EntityModel, name: str, rows: NamedFromClause
) -> tuple[FromClause, Value]:
    """Return ``rows`` with what they refer to by the field ``name``, and the column with its id."""
    if referring.by_name[name].link is None:
        return rows, rows.c[name]
    links = junction_of(registry, referring, name).alias(f"{rows.name} links")
    same = [links.c.tenant_id == rows.c.tenant_id] if referring.tenant_owned else []
    return rows.join(links, sa.and_(links.c.source_id == rows.c.id, *same)), links.c.target_id


def _refers(model: EntityModel, referring: EntityModel, rows: FromClause, key: Value, *, is_final: bool) -> list[Truth]:
    """Conditions for rows with a ``key`` among ``ids``; of every tenant if ``model`` has no owner."""
    refers = [*([of_tenant(rows)] if model.tenant_owned else []), is_among(key)]
    # A permanent deletion also counts soft-deleted rows, because their foreign keys would break.
    return refers if is_final else [*refers, *living(referring, rows)]
