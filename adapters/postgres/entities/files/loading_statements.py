"""Statements that move a file's rows from a temporary table into the entity's table.

Arguments: ``tenant``, for entities owned by tenants; ``by`` and ``at`` for writes; and those named. ``key`` is the
field by which an upsert finds stored rows.
"""

from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import CTE, FromClause, func
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from adapters.postgres.entities.files.counted_changes import counted, written_rows
from adapters.postgres.entities.writing.link_statements import PLACE, given_links, stored_links
from adapters.postgres.schema.copies import is_lowered
from adapters.postgres.schema.sql import DIALECT, short_name
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.owning import column_of, not_own, visible
from adapters.postgres.statements.rows import Truth, Value, table_of, unique_without_case
from adapters.postgres.statements.writing import (
    SEEN,
    creation_columns,
    exists_in,
    held_rows,
    materialized,
    owned_and_living,
    owner_columns,
    transfer_type,
    transferred,
    update_columns,
)
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.owning import Limits
from domain.entities.query.kinds import ignores_case

REMEMBERED = 256

INCOMING = "tenantry incoming"
"""Name of the temporary table. Names of entities' tables and of fields never contain a space."""
_N, _ID, _GIVEN, _REFUSED, _VERSION = "row n", "row id", "row given", "row refused", "row version"
_KEY = "row key"

PLANNING = "SET LOCAL plan_cache_mode = force_custom_plan"
"""Plans for this tenant and file: a generic plan would read all rows of a large tenant for a file of ten."""
USUAL_PLANNING = "SET LOCAL plan_cache_mode = auto"
LEAVE_OUT = 'DELETE FROM "tenantry incoming" WHERE "row n" = ANY ($1::int[])'
LEFT = 'SELECT count(*) FROM "tenantry incoming"'
INDEX = 'CREATE UNIQUE INDEX ON "tenantry incoming" ("row n")'
"""Index of the temporary table by row number: without it, each lookup of a row would read the whole file."""

_ROW, _ROW_ID = parameter("row", sa.Integer()), parameter("row_id", sa.Uuid())


@lru_cache(maxsize=REMEMBERED)
def create_incoming(model: EntityModel) -> str:
    """Return DDL of the temporary table, dropped at the end of the transaction."""
    return str(CreateTable(_incoming(model)).compile(dialect=DIALECT))


@lru_cache(maxsize=REMEMBERED)
def _incoming(model: EntityModel) -> sa.Table:
    own: list[sa.Column[Any]] = [
        sa.Column(_N, sa.Integer(), nullable=False),
        sa.Column(_ID, sa.Uuid(), nullable=False),
        sa.Column(_GIVEN, sa.Text()),
        sa.Column(_REFUSED, sa.Text()),
        sa.Column(_VERSION, sa.Integer()),
    ]
    fields = [sa.Column(field.name, transfer_type(field)) for field in model.declared]
    return sa.Table(INCOMING, sa.MetaData(), *own, *fields, prefixes=["TEMPORARY"], postgresql_on_commit="DROP")


def numbered(model: EntityModel) -> tuple[sa.Table, Value, Value]:
    """Return the temporary table, with its columns for the number and the id of a row."""
    return (incoming := _incoming(model)), incoming.c[_N], incoming.c[_ID]


def copied_columns(model: EntityModel, *, is_upsert: bool) -> list[str]:
    """Return the temporary table's columns in the order of a sheet's rows."""
    upserted = [_GIVEN, _REFUSED, _VERSION] if is_upsert else []
    return [_N, _ID, *upserted, *model.names]


@lru_cache(maxsize=REMEMBERED)
def find_refused(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Return the statement to find rows valid only as an update but without a stored row: ``n`` and the error,
    ``refused``.

    Only the first ``most`` rows have their error, because it may be long and the response shows only those.
    """
    incoming, table = _incoming(model), table_of(registry, model)
    place = func.row_number().over(order_by=incoming.c[_N])
    told = sa.case((place <= parameter("most", sa.Integer()), incoming.c[_REFUSED]))
    refused = sa.select(incoming.c[_N].label("n"), told.label("refused"))
    there = exists_in(table, *_adopted(model, table, incoming))
    return compiled(refused.where(incoming.c[_REFUSED].is_not(None), ~there).order_by(incoming.c[_N]))


@lru_cache(maxsize=REMEMBERED)
def find_stale(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Select rows older than the stored row: ``n``, their ``version``, and the ``stored`` one."""
    incoming, table = _incoming(model), table_of(registry, model)
    both = incoming.join(table, sa.and_(*_adopted(model, table, incoming)))
    version = incoming.c[_VERSION]
    found = sa.select(incoming.c[_N].label("n"), version.label("version"), table.c.version.label("stored"))
    return compiled(found.select_from(both).where(version < table.c.version).order_by(incoming.c[_N]))


@lru_cache(maxsize=REMEMBERED)
def find_changed(registry: Registry, model: EntityModel, limits: Limits, kept: tuple[str, ...]) -> CompiledStatement:
    """Select rows that differ from the stored row in fields of ``kept``: ``n`` and the ``names`` of these fields."""
    incoming, table = _incoming(model), table_of(registry, model)
    both = incoming.join(table, sa.and_(*_adopted(model, table, incoming)))
    fields = [model.by_name[name] for name in kept]
    stored = {**table.c, **stored_links(registry, model, table, limits)}
    differ = {
        field.name: sa.and_(
            _flag(model, field) == constant("2"),
            transferred(field, incoming.c[field.name]).is_distinct_from(stored[field.name]),
        )
        for field in fields
    }
    names = func.array_remove(
        postgresql.array([sa.case((differs, constant(name))) for name, differs in differ.items()]), sa.null()
    )
    found = sa.select(incoming.c[_N].label("n"), names.label("names")).select_from(both)
    return compiled(found.where(sa.or_(*differ.values())).order_by(incoming.c[_N]))


@lru_cache(maxsize=REMEMBERED)
def find_not_own(registry: Registry, model: EntityModel, limits: Limits) -> CompiledStatement:
    """Select rows that the caller may not write because of ownership: ``n``, ``given``, and ``is_loss``.

    With ``is_loss`` the row would not be the caller's own after the write, otherwise the stored row is not.
    """
    incoming, table = _incoming(model), table_of(registry, model)
    is_new = table.c.id.is_(None)
    stored: Truth = sa.false()
    if limits.bind(model, "update"):
        stored = ~is_new & not_own(registry, model, column_of(table), "update")
    losses: list[Truth] = [sa.false()]
    if limits.ask_of_new(model):
        losses.append(is_new & not_own(registry, model, column_of(incoming), "create"))
    if limits.ask_of_change(model, model.names):
        updated = {**table.c, **{field.name: _updated(model, field, table.c[field.name]) for field in model.columns}}
        losses.append(~is_new & not_own(registry, model, updated.__getitem__, "read"))
    given = sa.case((~is_new, incoming.c[_GIVEN])).label("given")
    found = sa.select(incoming.c[_N].label("n"), given, (~stored).label("is_loss"))
    both = found.select_from(incoming.outerjoin(table, sa.and_(*_adopted(model, table, incoming))))
    return compiled(both.where(sa.or_(stored, *losses)).order_by(incoming.c[_N]))


@lru_cache(maxsize=REMEMBERED)
def find_referred(model: EntityModel, name: str) -> CompiledStatement:
    """Select the distinct ids in the field."""
    column = _incoming(model).c[name]
    return compiled(sa.select(column.label("id")).where(column.is_not(None)).distinct())


@lru_cache(maxsize=REMEMBERED)
def find_rows(model: EntityModel) -> CompiledStatement:
    """Select ``n`` and ``id`` of all rows, in the order of the file."""
    incoming = _incoming(model)
    return compiled(sa.select(incoming.c[_N].label("n"), incoming.c[_ID].label("id")).order_by(incoming.c[_N]))


@lru_cache(maxsize=REMEMBERED)
def find_missing(registry: Registry, model: EntityModel, limits: Limits, name: str) -> CompiledStatement:
    """Return the array of row numbers with a reference to no live row that the caller sees; lock the referenced rows.

    A stored row may still refer to a row that the caller does not see.
    """
    incoming = _incoming(model)
    column = incoming.c[name]
    field = model.by_name[name]
    if field.link is not None:
        sent = _given_links(model, None)
        assert sent is not None, name
        (given,) = given_links(registry, model, [field], sent, limits)
        missing = given.wrong().with_only_columns(given.links.c.n).distinct()
    else:
        held = held_rows(registry, model, field, sa.select(column), limits)
        found = [exists_in(held, held.c.id == column, *([held.c[SEEN]] if SEEN in held.c else []))]
        may_dangle = field.reference is not None and field.reference.may_dangle
        if SEEN in held.c or may_dangle:
            table = table_of(registry, model)
            stays = exists_in(table, *_adopted(model, table, incoming), table.c[name] == column)
            found.append(stays if may_dangle else stays & exists_in(held, held.c.id == column))
        missing = sa.select(incoming.c[_N].label("n")).where(column.is_not(None), ~sa.or_(*found))
    numbers = missing.subquery("missing")
    # Return an array: a result row per number would need ten times the memory.
    return compiled(sa.select(func.array_agg(postgresql.aggregate_order_by(numbers.c.n, numbers.c.n))))


@lru_cache(maxsize=REMEMBERED)
def insert_incoming(
    registry: Registry, model: EntityModel, limits: Limits, *, is_upsert: bool = False, is_single: bool = False
) -> CompiledStatement:
    """Insert the rows (if ``is_upsert`` only new ones) and count them.

    If ``is_single``, insert only ``row`` of the file, with the id ``row_id``.
    """
    incoming, table = _incoming(model), table_of(registry, model)
    sent = {field.name: transferred(field, incoming.c[field.name]) for field in model.columns}
    values = {**owner_columns(model), "id": incoming.c[_ID], **sent, **creation_columns(model)}
    # In file order: of two rows with one unique value, the first is stored.
    rows = sa.select(*values.values()).order_by(incoming.c[_N])
    if is_upsert:
        rows = rows.where(~exists_in(table, *_adopted(model, table, incoming, is_single=is_single)))
    if is_single:
        rows = rows.where(incoming.c[_N] == _ROW)
    insert = postgresql.insert(table).from_select(list(values), rows)
    # A single row uses a savepoint, where an error reports the duplicate value.
    skips = model.unique and not is_single
    written = written_rows(model, insert.on_conflict_do_nothing() if skips else insert)
    return counted(registry, model, limits, written, _given_links(model, written))


@lru_cache(maxsize=REMEMBERED)
def adopt_matching(registry: Registry, model: EntityModel, limits: Limits, key: str) -> CompiledStatement:
    """Return the statement to set the id of each updating row to the id of the stored row with the same key, and count
    them. Rows that the caller does not see are not found.

    It locks the stored rows in id order. It skips rows that another transaction inserts concurrently.
    """
    incoming, table = _incoming(model), table_of(registry, model)
    given = sa.select(_key(model, key, incoming).label(_KEY))
    if is_lowered(model, model.by_name[key]):
        # Lower beforehand: row-level security prevents index use in a comparison with lower() of a column.
        given = sa.select(materialized(given, "given keys").c[_KEY])
    rows = sa.select(table.c.id, _key(model, key, table).label(_KEY))
    seen = visible(registry, model, table, limits)
    rows = rows.where(*owned_and_living(model, table), *seen, _key(model, key, table).in_(given)).order_by(table.c.id)
    # not for a deletion: rows that others refer to at the same time are no reason to wait
    held = materialized(rows.with_for_update(key_share=True), "held rows")
    adopting = sa.update(incoming).values({_ID: held.c.id}).where(held.c[_KEY] == _key(model, key, incoming))
    adopted = adopting.returning(incoming.c[_N]).cte("adopted")
    return compiled(sa.select(func.count()).select_from(adopted))


@lru_cache(maxsize=REMEMBERED)
def forget_stored(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Delete rows with an id of a stored row: only rows to insert remain."""
    incoming, table = _incoming(model), table_of(registry, model)
    return compiled(sa.delete(incoming).where(exists_in(table, *_adopted(model, table, incoming))))


@lru_cache(maxsize=REMEMBERED)
def read_updates(registry: Registry, model: EntityModel, limits: Limits) -> CompiledStatement:
    """Select rows before (``old sku``) and after the update (``new sku``), in the order of the file."""
    incoming, table = _incoming(model), table_of(registry, model)
    stored = {**table.c, **stored_links(registry, model, table, limits)}
    old = [stored[name].label(old_name(name)) for name in model.names]
    new = [_updated(model, field, stored[field.name]).label(new_name(field.name)) for field in model.declared]
    both = incoming.join(table, sa.and_(*_adopted(model, table, incoming)))
    return compiled(sa.select(incoming.c[_N].label("n"), *old, *new).select_from(both).order_by(incoming.c[_N]))


def old_name(name: str) -> str:
    return short_name(f"old {name}")


def new_name(name: str) -> str:
    return short_name(f"new {name}")


@lru_cache(maxsize=REMEMBERED)
def drop_doubles(model: EntityModel, key: str) -> CompiledStatement:
    """Delete all but the first of the file's rows with the same key, and return their ``n``."""
    incoming, others = _incoming(model), _incoming(model).alias("o")
    double, place = _key(model, key, others), others.c[_N]
    firsts = sa.select(double.label("key"), func.min(place).label("n")).group_by(double)
    first = firsts.having(func.count() > constant(1)).subquery("f")
    is_double = sa.and_(first.c.key == _key(model, key, incoming), incoming.c[_N] > first.c.n)
    return compiled(sa.delete(incoming).where(is_double).returning(incoming.c[_N].label("n")))


@lru_cache(maxsize=REMEMBERED)
def update_matching(
    registry: Registry, model: EntityModel, limits: Limits, key: str, *, is_single: bool = False
) -> CompiledStatement:
    """Update stored rows except their ``key``, and count them; if ``is_single`` only by ``row`` of the file."""
    incoming, table = _incoming(model), table_of(registry, model)
    updated = {field.name: _updated(model, field, table.c[field.name]) for field in model.columns if field.name != key}
    # A row that has only its key does not change the stored row or its version.
    has_values = func.strpos(_given(model, but=key), constant("1")) > constant(0)
    acted = {name: sa.case((has_values, value), else_=table.c[name]) for name, value in update_columns(table).items()}
    matches = _adopted(model, table, incoming, is_single=is_single)
    if is_single:
        matches.append(incoming.c[_N] == _ROW)
    rows = sa.select(table).select_from(incoming.join(table, sa.and_(*matches)))
    before = materialized(rows, "rows before")
    update = sa.update(table).values({**updated, **acted}).where(*matches)
    written = written_rows(model, update)
    return counted(registry, model, limits, written, _given_links(model, written, is_update=True), before)


@lru_cache(maxsize=REMEMBERED)
def find_apart(registry: Registry, model: EntityModel, key: str) -> CompiledStatement:
    """Select ``n`` and ``id`` of new rows and of updates that change a unique value."""
    incoming, table = _incoming(model), table_of(registry, model)
    names = dict.fromkeys(name for unique in model.unique for name in unique.fields if name != key)
    kept = [_updated(model, model.by_name[name], table.c[name]).is_not_distinct_from(table.c[name]) for name in names]
    is_new, stays = table.c.id.is_(None), sa.and_(sa.true(), *kept)
    found = sa.select(incoming.c[_N].label("n"), incoming.c[_ID].label("id"), (~is_new).label("moves"))
    either = found.select_from(incoming.outerjoin(table, sa.and_(*_adopted(model, table, incoming))))
    return compiled(either.where(sa.or_(is_new, ~stays)).order_by(incoming.c[_N]))


def _given_links(model: EntityModel, rows: FromClause | None, *, is_update: bool = False) -> CTE | None:
    """Return the links in the file of the rows ``rows``, or of all; null for fields that an update leaves unchanged."""
    if not model.links:
        return None
    incoming = _incoming(model)
    columns = []
    for field in model.links:
        sent = transferred(field, incoming.c[field.name])
        columns.append((sa.case((_flag(model, field) == constant("1"), sent)) if is_update else sent).label(field.name))
    found = sa.select(incoming.c[_N].label(PLACE), incoming.c[_ID].label("id"), *columns)
    return materialized(found if rows is None else found.where(incoming.c[_ID] == rows.c.id), "given links")


def _updated(model: EntityModel, field: FieldModel, stored: Value) -> Value:
    sent = transferred(field, _incoming(model).c[field.name])
    return sa.case((_flag(model, field) == constant("1"), sent), else_=stored)


def _flag(model: EntityModel, field: FieldModel) -> Value:
    """Return the field's flag: ``1`` for a value to store, ``2`` for a value to compare, else ``0``."""
    # Each field has one character: 0110 means that the second and third declared fields have values.
    return func.substr(_incoming(model).c[_GIVEN], constant(model.declared.index(field) + 1), constant(1))


def _given(model: EntityModel, *, but: str) -> Value:
    """Flags of the row's fields, without that of ``but``."""
    incoming, place = _incoming(model), [field.name for field in model.declared].index(but) + 1
    return func.overlay(incoming.c[_GIVEN], constant("0"), constant(place))


def _adopted(model: EntityModel, table: sa.Table, incoming: FromClause, *, is_single: bool = False) -> list[Truth]:
    # A literal id: without statistics of a new table, the planner would read all rows of the tenant.
    known = [table.c.id == _ROW_ID] if is_single else []
    return [*owned_and_living(model, table), table.c.id == incoming.c[_ID], *known]


def _key(model: EntityModel, key: str, rows: FromClause) -> Value:
    # A case-insensitive unique constraint over further fields does not cover the key.
    return unique_without_case(model, key, rows) if ignores_case(model, model.by_name[key]) else rows.c[key]
