"""The statements about a file's rows on their way from a temporary table into that of their entity.

Arguments: ``tenant``, of entities that tenants own; ``by`` and ``at``, where rows are written; and those named. ``key``
is the name of the field by which an import that updates finds the rows that are there.
"""

from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import CTE, FromClause, func
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from adapters.postgres.entities.history import DataChange, history_lines
from adapters.postgres.schema.copies import is_lowered
from adapters.postgres.schema.sql import DIALECT, short_name
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.rows import Truth, Value, table_of, unique_without_case
from adapters.postgres.statements.writing import (
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
from application.ports.entities.history import Action
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.query.kinds import ignores_case

REMEMBERED = 256

INCOMING = "tenantry incoming"
"""Name of the temporary table. Neither an entity's table nor a field has a blank in its name."""
_N, _ID, _GIVEN, _REFUSED, _VERSION = "row n", "row id", "row given", "row refused", "row version"
_KEY = "row key"

PLANNING = "SET LOCAL plan_cache_mode = force_custom_plan"
"""Plans for this tenant and file: one for any values reads all the rows of a large tenant for ten of a file."""
USUAL_PLANNING = "SET LOCAL plan_cache_mode = auto"
LEAVE_OUT = 'DELETE FROM "tenantry incoming" WHERE "row n" = ANY ($1::int[])'
LEFT = 'SELECT count(*) FROM "tenantry incoming"'
INDEX = 'CREATE UNIQUE INDEX ON "tenantry incoming" ("row n")'
"""So that a row of the file is found by its number: without it each look would read the whole file."""

_ROW, _ROW_ID = parameter("row", sa.Integer()), parameter("row_id", sa.Uuid())


@lru_cache(maxsize=REMEMBERED)
def create_incoming(model: EntityModel) -> str:
    """DDL of the temporary table, which is gone when the transaction is."""
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


def copied_columns(model: EntityModel, *, is_upsert: bool) -> list[str]:
    """Columns of the temporary table in the order of the rows that a sheet gives."""
    upserted = [_GIVEN, _REFUSED, _VERSION] if is_upsert else []
    return [_N, _ID, *upserted, *model.names]


@lru_cache(maxsize=REMEMBERED)
def find_refused(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Selects rows that only make sense as an update and have no row to update: ``n`` and the error, ``refused``.

    Only the first ``most`` have their error: nobody is told more of them, and it may be long.
    """
    incoming, table = _incoming(model), table_of(registry, model)
    place = func.row_number().over(order_by=incoming.c[_N])
    told = sa.case((place <= parameter("most", sa.Integer()), incoming.c[_REFUSED]))
    refused = sa.select(incoming.c[_N].label("n"), told.label("refused"))
    there = exists_in(table, *_adopted(model, table, incoming))
    return compiled(refused.where(incoming.c[_REFUSED].is_not(None), ~there).order_by(incoming.c[_N]))


@lru_cache(maxsize=REMEMBERED)
def find_stale(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Selects rows that are older than the stored row: ``n``, their ``version``, and the one that is ``stored``."""
    incoming, table = _incoming(model), table_of(registry, model)
    both = incoming.join(table, sa.and_(*_adopted(model, table, incoming)))
    version = incoming.c[_VERSION]
    found = sa.select(incoming.c[_N].label("n"), version.label("version"), table.c.version.label("stored"))
    return compiled(found.select_from(both).where(version < table.c.version).order_by(incoming.c[_N]))


@lru_cache(maxsize=REMEMBERED)
def find_changed(registry: Registry, model: EntityModel, kept: tuple[str, ...]) -> CompiledStatement:
    """Selects rows that differ from the stored row in fields of ``kept``: ``n`` and the ``names`` of these fields."""
    incoming, table = _incoming(model), table_of(registry, model)
    both = incoming.join(table, sa.and_(*_adopted(model, table, incoming)))
    fields = [model.by_name[name] for name in kept]
    differ = {
        field.name: sa.and_(
            _flag(model, field) == constant("2"),
            transferred(field, incoming.c[field.name]).is_distinct_from(table.c[field.name]),
        )
        for field in fields
    }
    names = func.array_remove(
        postgresql.array([sa.case((differs, constant(name))) for name, differs in differ.items()]), sa.null()
    )
    found = sa.select(incoming.c[_N].label("n"), names.label("names")).select_from(both)
    return compiled(found.where(sa.or_(*differ.values())).order_by(incoming.c[_N]))


@lru_cache(maxsize=REMEMBERED)
def find_referred(model: EntityModel, name: str) -> CompiledStatement:
    """Selects the ids in the field, each once."""
    column = _incoming(model).c[name]
    return compiled(sa.select(column.label("id")).where(column.is_not(None)).distinct())


@lru_cache(maxsize=REMEMBERED)
def find_rows(model: EntityModel) -> CompiledStatement:
    """Selects ``n`` and ``id`` of all rows, in the order of the file."""
    incoming = _incoming(model)
    return compiled(sa.select(incoming.c[_N].label("n"), incoming.c[_ID].label("id")).order_by(incoming.c[_N]))


@lru_cache(maxsize=REMEMBERED)
def find_missing(registry: Registry, model: EntityModel, name: str) -> CompiledStatement:
    """The numbers of rows that refer to no living row, as an array; the rows that others refer to are locked."""
    incoming = _incoming(model)
    column = incoming.c[name]
    field = model.by_name[name]
    held = held_rows(registry, model, field, sa.select(column))
    missing = sa.select(incoming.c[_N].label("n")).where(column.is_not(None), ~exists_in(held, held.c.id == column))
    numbers = missing.subquery("missing")
    # in a single answer: of a file without a right reference each row would be one, and take ten times the memory
    return compiled(sa.select(func.array_agg(postgresql.aggregate_order_by(numbers.c.n, numbers.c.n))))


@lru_cache(maxsize=REMEMBERED)
def insert_incoming(
    registry: Registry, model: EntityModel, *, is_upsert: bool = False, is_single: bool = False
) -> CompiledStatement:
    """Inserts the rows and counts them; if ``is_upsert`` only new rows.

    If ``is_single``, only ``row`` of the file, whose id is ``row_id``.
    """
    incoming, table = _incoming(model), table_of(registry, model)
    sent = {field.name: transferred(field, incoming.c[field.name]) for field in model.declared}
    values = {**owner_columns(model), "id": incoming.c[_ID], **sent, **creation_columns(model)}
    # in the order of the file: of two rows with one unique value the first is stored
    rows = sa.select(*values.values()).order_by(incoming.c[_N])
    if is_upsert:
        rows = rows.where(~exists_in(table, *_adopted(model, table, incoming, is_single=is_single)))
    if is_single:
        rows = rows.where(incoming.c[_N] == _ROW)
    insert = postgresql.insert(table).from_select(list(values), rows)
    # a row alone is written behind a savepoint, where an error says that its value is taken
    skips = model.unique and not is_single
    return _counted(model, insert.on_conflict_do_nothing() if skips else insert, "created")


@lru_cache(maxsize=REMEMBERED)
def adopt_matching(registry: Registry, model: EntityModel, key: str) -> CompiledStatement:
    """Gives each row that is an update the id of the stored row with its key, and counts these rows.

    The stored rows are locked in the order of their ids, whatever that of the file; a row that is not locked, because
    it appeared meanwhile, is not taken.
    """
    incoming, table = _incoming(model), table_of(registry, model)
    given = sa.select(_key(model, key, incoming).label(_KEY))
    if is_lowered(model, model.by_name[key]):
        # lowered beforehand: row-level security keeps an index from a comparison with lower() of any column
        given = sa.select(materialized(given, "given keys").c[_KEY])
    rows = sa.select(table.c.id, _key(model, key, table).label(_KEY))
    rows = rows.where(*owned_and_living(model, table), _key(model, key, table).in_(given)).order_by(table.c.id)
    # not for a deletion: rows that others refer to at the same time are no reason to wait
    held = materialized(rows.with_for_update(key_share=True), "held rows")
    adopting = sa.update(incoming).values({_ID: held.c.id}).where(held.c[_KEY] == _key(model, key, incoming))
    adopted = adopting.returning(incoming.c[_N]).cte("adopted")
    return compiled(sa.select(func.count()).select_from(adopted))


@lru_cache(maxsize=REMEMBERED)
def forget_stored(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Leaves only the rows whose id no stored row has: those that could not be inserted."""
    incoming, table = _incoming(model), table_of(registry, model)
    return compiled(sa.delete(incoming).where(exists_in(table, *_adopted(model, table, incoming))))


@lru_cache(maxsize=REMEMBERED)
def read_updates(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Selects rows as they are (``old sku``) and as they would be (``new sku``), in the order of the file."""
    incoming, table = _incoming(model), table_of(registry, model)
    old = [table.c[name].label(old_name(name)) for name in model.names]
    new = [_updated(model, field, table).label(new_name(field.name)) for field in model.declared]
    both = incoming.join(table, sa.and_(*_adopted(model, table, incoming)))
    rows = sa.select(incoming.c[_N].label("n"), *old, *new).select_from(both)
    return compiled(rows.order_by(incoming.c[_N]))


def old_name(name: str) -> str:
    return short_name(f"old {name}")


def new_name(name: str) -> str:
    return short_name(f"new {name}")


@lru_cache(maxsize=REMEMBERED)
def drop_doubles(model: EntityModel, key: str) -> CompiledStatement:
    """Leaves only the first of the rows that have one key."""
    incoming, others = _incoming(model), _incoming(model).alias("o")
    double, place = _key(model, key, others), others.c[_N]
    firsts = sa.select(double.label("key"), func.min(place).label("n")).group_by(double)
    first = firsts.having(func.count() > constant(1)).subquery("f")
    return compiled(sa.delete(incoming).where(first.c.key == _key(model, key, incoming), incoming.c[_N] > first.c.n))


@lru_cache(maxsize=REMEMBERED)
def update_matching(registry: Registry, model: EntityModel, key: str, *, is_single: bool = False) -> CompiledStatement:
    """Updates stored rows and counts them, if ``is_single`` only by ``row`` of the file; the ``key`` stays."""
    incoming, table = _incoming(model), table_of(registry, model)
    updated = {field.name: _updated(model, field, table) for field in model.declared if field.name != key}
    # a row that has nothing but its key stays as it is, its version too
    has_values = func.strpos(_given(model, but=key), constant("1")) > constant(0)
    acted = {name: sa.case((has_values, value), else_=table.c[name]) for name, value in update_columns(table).items()}
    matches = _adopted(model, table, incoming, is_single=is_single)
    if is_single:
        matches.append(incoming.c[_N] == _ROW)
    rows = sa.select(table).select_from(incoming.join(table, sa.and_(*matches)))
    before = materialized(rows, "rows before")
    update = sa.update(table).values({**updated, **acted}).where(*matches)
    return _counted(model, update, "changed", before)


@lru_cache(maxsize=REMEMBERED)
def find_apart(registry: Registry, model: EntityModel, key: str) -> CompiledStatement:
    """Selects ``n`` and ``id`` of the rows that are new and of those that move: an update with another unique value."""
    incoming, table = _incoming(model), table_of(registry, model)
    names = dict.fromkeys(name for unique in model.unique for name in unique.fields if name != key)
    kept = [_updated(model, model.by_name[name], table).is_not_distinct_from(table.c[name]) for name in names]
    is_new, stays = table.c.id.is_(None), sa.and_(sa.true(), *kept)
    found = sa.select(incoming.c[_N].label("n"), incoming.c[_ID].label("id"), (~is_new).label("moves"))
    either = found.select_from(incoming.outerjoin(table, sa.and_(*_adopted(model, table, incoming))))
    return compiled(either.where(sa.or_(is_new, ~stays)).order_by(incoming.c[_N]))


def _counted(model: EntityModel, change: DataChange, action: Action, before: CTE | None = None) -> CompiledStatement:
    """The change, its lines in an entity's history, and the number of rows that it wrote."""
    # a file can have a million rows: only a history needs them whole
    columns = change.table.c if model.declaration.history else [change.table.c.id]
    written = change.returning(*columns).cte("written rows")
    count = sa.select(func.count()).select_from(written)
    return compiled(count.add_cte(*history_lines(model, action, written, before)))


def _updated(model: EntityModel, field: FieldModel, table: sa.Table) -> Value:
    """The file's value if the row has one, else the stored value."""
    sent = transferred(field, _incoming(model).c[field.name])
    return sa.case((_flag(model, field) == constant("1"), sent), else_=table.c[field.name])


def _flag(model: EntityModel, field: FieldModel) -> Value:
    """``1`` for a value to store, ``2`` for one to compare, else ``0``."""
    # such as 0110: the row has values for the second and third declared fields
    return func.substr(_incoming(model).c[_GIVEN], constant(model.declared.index(field) + 1), constant(1))


def _given(model: EntityModel, *, but: str) -> Value:
    """Flags of the fields that a row has values for, without that of the field ``but``."""
    incoming, place = _incoming(model), [field.name for field in model.declared].index(but) + 1
    return func.overlay(incoming.c[_GIVEN], constant("0"), constant(place))


def _adopted(model: EntityModel, table: sa.Table, incoming: FromClause, *, is_single: bool = False) -> list[Truth]:
    # an id that stands in the statement: the planner, who knows little of a new table, would read the tenant's rows
    known = [table.c.id == _ROW_ID] if is_single else []
    return [*owned_and_living(model, table), table.c.id == incoming.c[_ID], *known]


def _key(model: EntityModel, key: str, rows: FromClause) -> Value:
    # a unique over further fields that ignores case says nothing of the key by itself
    return unique_without_case(model, key, rows) if ignores_case(model, model.by_name[key]) else rows.c[key]
