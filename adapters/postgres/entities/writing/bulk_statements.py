"""Statements that write any number of rows of an entity, all or none.

Their result has two kinds of rows. A written row is complete, followed by its id and version. A problem has nulls in
these columns, followed by the row's number (from 1) and the name of the invalid field. If there is a problem, nothing
is written. Arguments: ``tenant``, ``by``, ``at``, ``ids``; for updates ``versions``; and an array for each column
(``array_name``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import CTE, Select, func
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import TypeEngine

from adapters.postgres.entities.changes.change_lines import change_lines
from adapters.postgres.entities.history import history_lines
from adapters.postgres.entities.reading.page_bounds import sizes_of, together_within_bound
from adapters.postgres.entities.recording import is_recorded
from adapters.postgres.entities.writing.link_statements import (
    PLACE,
    GivenLinks,
    fresh_links,
    given_links,
    stored_links,
    with_links,
    written_links,
)
from adapters.postgres.schema.sql import is_soft, short_name
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.owning import column_of, not_own, reachable, visible
from adapters.postgres.statements.rows import Truth, Value, owner, table_of
from adapters.postgres.statements.writing import (
    REMEMBERED,
    creation_columns,
    exists_in,
    held_rows,
    is_among,
    materialized,
    owned_and_living,
    owner_columns,
    seen_among,
    stored_columns,
    transfer_type,
    transferred,
    update_columns,
    version_of,
)
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.owning import NO_LIMITS, Limits, deciding_fields

# A field name has no blank.
WRONG = "wrong field"
NOT_OWN, NOT_YOURS = "not own", "not yours"
"""Names of the problems of rows that are not, or would not be, the caller's own."""


class _Array(NamedTuple):
    """A written column and the parameter with its values."""

    column: str
    parameter: str
    item_type: TypeEngine[Any]


_IDS = _Array("id", "ids", sa.Uuid())
_VERSIONS = _Array("version", "versions", sa.Integer())


def array_name(field: FieldModel) -> str:
    return f"each_{field.name}"


def presence_name(field: FieldModel) -> str:
    """Return the name of the parameter that marks, for each row of a partial update, whether the field changes."""
    return f"has_{field.name}"


@lru_cache(maxsize=REMEMBERED)
def insert_rows(registry: Registry, model: EntityModel, limits: Limits) -> CompiledStatement:
    table = table_of(registry, model)
    given = _given_rows([_IDS], model.declared)
    links = given_links(registry, model, model.links, given, limits)
    wrong = [*_missing(registry, model, model.declared, given, limits), *(each.wrong() for each in links)]
    if limits.ask_of_new(model):
        wrong.append(_problem(given, constant(NOT_YOURS)).where(not_own(registry, model, column_of(given), "create")))
    problems = _problems(wrong)
    sent = {field.name: given.c[field.name] for field in model.columns}
    values = {**owner_columns(model), "id": given.c.id, **sent, **creation_columns(model)}
    # Store rows in the order of the request, for any plan.
    rows = sa.select(*values.values()).where(~exists_in(problems)).order_by(given.c[PLACE])
    written = sa.insert(table).from_select(list(values), rows).returning(*table.c).cte("written rows")
    shown = with_links(written, {each.field.name: each.value(written) for each in links}, "rows shown")
    linked = (cte for each in links for cte in each.written(~exists_in(problems), replaces=False))
    changes = change_lines(registry, model, "created", written, given=links)
    return compiled(_answer(model, shown, problems).add_cte(*linked, *history_lines(model, "created", shown), *changes))


@lru_cache(maxsize=REMEMBERED)
def update_rows(
    registry: Registry,
    model: EntityModel,
    limits: Limits,
    columns: tuple[str, ...],
    *,
    is_partial: bool,
    spared: tuple[FieldModel, ...] | None = None,
) -> CompiledStatement:
    """Update ``columns``; if ``is_partial``, a second array for each column marks the rows to change.

    A row without values retains its version. With ``spared`` the rows were set aside (see ``unique_swaps``): arrays
    (``former_name``) have the former values.
    """
    table, fields = table_of(registry, model), [model.by_name[name] for name in columns]
    were = spared or ()
    former = [_Array(_was(field), former_name(field), transfer_type(field)) for field in were]
    given = _given_rows([_IDS, _VERSIONS, *former], fields, is_partial=is_partial)
    stored = {**table.c, **{field.name: transferred(field, given.c[_was(field)]) for field in were}}
    is_hidden, own = spared is not None and is_soft(model), [field for field in fields if field.link is None]
    needed = [field.name for field in model.declared if field.reference and field.reference.may_dangle]
    needed += [*deciding_fields(model), *(field.name for field in own)] if limits != NO_LIMITS else []
    before = (
        _locked_rows(registry, model, limits, needed)
        if spared is None
        else _rows_set_aside(model, table, stored, given)
    )
    links = given_links(registry, model, fields, given, limits, is_aside=is_hidden)
    wrong = [_unseen(given, before), *(each.wrong(before) for each in links)]
    wrong += _missing(registry, model, fields, given, limits, before=before, is_hidden=is_hidden)
    if limits.ask_of_change(model, columns):
        after = {field.name: _changed(before.c[field.name], field, given, is_partial=is_partial) for field in own}
        wrong.append(_lost(registry, model, given, before, after))
    problems = _problems(wrong)
    changed = {field.name: _changed(stored[field.name], field, given, is_partial=is_partial) for field in own}
    is_touched = _is_touched(given, fields, is_partial=is_partial)
    acted = {name: _if(is_touched, value, table.c[name]) for name, value in update_columns(table).items()}
    back = {field.name: stored[field.name] for field in were} | ({"is_deleted": sa.false()} if is_hidden else {})
    update = (
        sa.update(table)
        # If nothing changes, set the id to itself, so that the statement still returns the rows.
        .values({**back, **changed, **acted} or {"id": table.c.id})
        .where(*owner(model, table), table.c.id == given.c.id, ~exists_in(problems))
    )
    written = update.returning(*table.c).cte("written rows")
    shown = _shown(registry, model, (written, before), links, limits)
    answer = _answer(model, shown, problems, is_bounded=True)
    linked = (cte for each in links for cte in each.written(~exists_in(problems), replaces=True))
    return compiled(answer.add_cte(*linked, *_changed_lines(registry, model, (written, before), links, limits)))


def _shown(
    registry: Registry, model: EntityModel, rows: tuple[CTE, CTE], links: Sequence[GivenLinks], limits: Limits
) -> CTE:
    written, before = rows
    version = sa.select(version_of(before)).where(before.c.id == written.c.id).correlate(written).scalar_subquery()
    unchanged = fresh_links(registry, model, written, version, limits)
    return with_links(written, written_links(written, unchanged, links), "rows shown")


def _changed_lines(
    registry: Registry, model: EntityModel, rows: tuple[CTE, CTE], links: Sequence[GivenLinks], limits: Limits
) -> list[CTE]:
    written, before = rows
    after = written_links(written, stored_links(registry, model, written, limits), links)
    rows_after = with_links(written, after, "rows after")
    rows_before = with_links(before, stored_links(registry, model, before, limits), "rows and links before")
    changed = change_lines(registry, model, "changed", written, before, links)
    return [*history_lines(model, "changed", rows_after, rows_before), *changed]


@lru_cache(maxsize=REMEMBERED)
def current_rows(
    registry: Registry,
    model: EntityModel,
    limits: Limits,
    *,
    locked: bool,
    shares: bool = False,
    is_bounded: bool = False,
) -> CompiledStatement:
    """Select live rows that the caller may update, with versions and the columns of fields, ``locked`` in id order.

    ``shares`` locks only against changes. ``is_bounded`` raises an InvalidArgumentForPowerFunctionError if several have
    too many bytes together.
    """
    table = table_of(registry, model)
    names = [field.name for field in model.columns]
    columns = [table.c.id, version_of(table).label("version"), *(table.c[name] for name in names)]
    reached = reachable(registry, model, table, limits, "update")
    rows = sa.select(*columns).where(*reached, is_among(table.c.id)).order_by(table.c.id)
    rows = rows.with_for_update(read=shares) if locked else rows
    if not is_bounded:
        return compiled(rows)
    # A statement that aggregates rows cannot lock them.
    held = materialized(rows, "held rows")
    version = together_within_bound(held.c.version, list(sizes_of(model, held, names)))
    return compiled(sa.select(held.c.id, version.label("version"), *(held.c[name] for name in names)))


@lru_cache(REMEMBERED)
def referring_rows(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Select the references of live rows, by field name."""
    table = table_of(registry, model)
    columns = [table.c.id, *(table.c[field.name] for field in model.declared if field.reference is not None)]
    return compiled(sa.select(*columns).where(*owned_and_living(model, table), is_among(table.c.id)))


def former_name(field: FieldModel) -> str:
    """Return the name of the parameter with the values that rows had before they were set aside."""
    return f"was_{field.name}"


def _given_rows(own: Iterable[_Array], fields: Sequence[FieldModel], *, is_partial: bool = False) -> CTE:
    sent_arrays = [_Array(field.name, array_name(field), transfer_type(field)) for field in fields]
    presences = [_Array(_has(field), presence_name(field), sa.Boolean()) for field in fields if is_partial]
    arrays = [*own, *sent_arrays, *presences]
    columns = [sa.column(array.column, array.item_type) for array in arrays]
    values = [parameter(array.parameter, ARRAY(array.item_type)) for array in arrays]
    rows = func.unnest(*values).table_valued(*columns, with_ordinality=PLACE).render_derived(name="g")
    stored = {field.name: transferred(field, rows.c[field.name]) for field in fields}
    sent = [stored.get(array.column, rows.c[array.column]).label(array.column) for array in arrays]
    return materialized(sa.select(rows.c[PLACE], *sent), "given rows")


def _has(field: FieldModel) -> str:
    return short_name(f"has {field.name}")


def _was(field: FieldModel) -> str:
    return short_name(f"was {field.name}")


def _locked_rows(registry: Registry, model: EntityModel, limits: Limits, needed: Iterable[str]) -> CTE:
    """Rows to update that the caller sees, with the columns ``needed``, locked in id order to compare versions."""
    table = table_of(registry, model)
    further = [table.c[name] for name in dict.fromkeys(needed)]
    # Records need all columns for comparison.
    columns = [*table.c] if is_recorded(model) else [table.c.id, version_of(table).label("version"), *further]
    if limits.bind(model, "update"):
        columns.append(not_own(registry, model, column_of(table), "update").label(NOT_OWN))
    seen = visible(registry, model, table, limits)
    rows = sa.select(*columns).where(*owned_and_living(model, table), *seen, is_among(table.c.id))
    return materialized(rows.order_by(table.c.id).with_for_update(key_share=True), "rows before")


def _rows_set_aside(model: EntityModel, table: sa.Table, stored: Mapping[str, Value], given: CTE) -> CTE:
    """Return a CTE of the rows before they were set aside; they are already locked."""
    columns = [value.label(name) for name, value in stored.items()]
    return materialized(sa.select(*columns).where(*owner(model, table), table.c.id == given.c.id), "rows before")


def _changed(stored: Value, field: FieldModel, given: CTE, *, is_partial: bool) -> Value:
    value = given.c[field.name]
    return sa.case((given.c[_has(field)], value), else_=stored) if is_partial else value


def _is_touched(given: CTE, fields: Sequence[FieldModel], *, is_partial: bool) -> Truth | None:
    """Return the condition that the request has values for a row; None if it has values for every row."""
    if fields and not is_partial:
        return None
    return sa.or_(sa.false(), *(given.c[_has(field)] for field in fields))


def _if(condition: Truth | None, value: Value, column: sa.Column[Any]) -> Value:
    return value if condition is None else sa.case((condition, value), else_=column)


def _missing(  # noqa: PLR0913  # the last two only for updates
    registry: Registry,
    model: EntityModel,
    fields: Iterable[FieldModel],
    given: CTE,
    limits: Limits,
    *,
    before: CTE | None = None,
    is_hidden: bool = False,
) -> Iterator[Select[Any]]:
    """Yield one SELECT per reference field, with a problem for each row without a live referenced row.

    A reference to a row that the caller does not see is a problem too, unless it is as in ``before``; a dangling
    reference may be as there. With ``is_hidden``, the given rows are set aside: they are live, but temporarily marked
    as deleted.
    """
    referring = {field: field.reference.target for field in fields if field.reference is not None}
    targets = dict.fromkeys(referring.values())
    held = {target: _held(registry, model, _of_target(referring, target), given, limits) for target in targets}
    for field, target in referring.items():
        absent = given.c[field.name].is_not(None) & given.c[field.name].not_in(seen_among(held[target]))
        may_dangle = field.reference is not None and field.reference.may_dangle
        if before is not None and (may_dangle or limits.hide(registry[target])):
            # A client may send back what it has read.
            stays = exists_in(before, before.c.id == given.c.id, before.c[field.name] == given.c[field.name])
            absent &= ~(stays if may_dangle else stays & given.c[field.name].in_(sa.select(held[target].c.id)))
        if is_hidden and target == model.plural:
            absent &= given.c[field.name].not_in(sa.select(given.c.id))
        yield _problem(given, constant(field.name)).where(absent)


def _of_target(referring: Mapping[FieldModel, str], target: str) -> list[FieldModel]:
    return [field for field, each in referring.items() if each == target]


def _held(registry: Registry, model: EntityModel, fields: Sequence[FieldModel], given: CTE, limits: Limits) -> CTE:
    """Return a CTE with the rows that these fields reference in one entity, locked in one order."""
    ids = [sa.select(given.c[field.name]) for field in fields]
    together = ids[0] if len(ids) == 1 else sa.union_all(*ids)
    return held_rows(registry, model, fields[0], together, limits)


def _unseen(given: CTE, before: CTE) -> Select[Any]:
    """Problems of missing rows, rows that are not own, and outdated versions."""
    wrong = sa.case((before.c.id.is_(None), constant("id")), else_=constant("version"))
    unseen = before.c.id.is_(None) | (given.c.version != version_of(before))
    if NOT_OWN in before.c:
        refused = before.c[NOT_OWN]
        wrong = sa.case(
            (before.c.id.is_(None), constant("id")), (refused, constant(NOT_OWN)), else_=constant("version")
        )
        unseen |= refused
    return _problem(given, wrong).select_from(given.outerjoin(before, before.c.id == given.c.id)).where(unseen)


def _lost(registry: Registry, model: EntityModel, given: CTE, before: CTE, after: Mapping[str, Value]) -> Select[Any]:
    """Problems of rows that would not be own after the update."""
    not_yours = not_own(registry, model, lambda name: after.get(name, before.c[name]), "read")
    both = given.join(before, before.c.id == given.c.id)
    return _problem(given, constant(NOT_YOURS)).select_from(both).where(not_yours)


def _problem(given: CTE, wrong: Value) -> Select[Any]:
    return sa.select(given.c[PLACE].label("n"), wrong.label("wrong"))


def _problems(parts: Iterable[Select[Any]]) -> CTE:
    nothing = sa.select(sa.cast(constant(0), sa.BigInteger()).label("n"), constant("").label("wrong")).where(sa.false())
    return materialized(sa.union_all(*(list(parts) or [nothing])), "problems found")


def _answer(model: EntityModel, written: CTE, problems: CTE, *, is_bounded: bool = False) -> sa.CompoundSelect[Any]:
    columns = stored_columns(model, written)
    if is_bounded:
        # Changed rows may be many times as long as the request body.
        version = together_within_bound(version_of(written), list(sizes_of(model, written, model.names)))
        columns[-1] = version.label("row version")
    # The first SELECT of a union determines the column types.
    rows = sa.select(*columns, sa.cast(sa.null(), sa.BigInteger()).label(PLACE), sa.null().label(WRONG))
    wrong = sa.select(*(sa.null() for _ in columns), problems.c.n, problems.c.wrong)
    return sa.union_all(rows, wrong).order_by(sa.column(PLACE))
