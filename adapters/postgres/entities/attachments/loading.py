"""Files that the rows of an import hold: checked before the rows are written, and held or released afterwards."""

from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import CTE, Select, func
from sqlalchemy.dialects import postgresql

from adapters.postgres.entities.files.loading_statements import numbered
from adapters.postgres.entities.tables import FILES
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.links import junction_of
from adapters.postgres.statements.rows import Truth, of_tenant, table_of
from adapters.postgres.statements.writing import AT, BY, exists_in, materialized, transferred
from domain.entities.attachments.files import ATTACHED_WITHIN, purpose_of
from domain.entities.declaration import EntityModel, Registry

REMEMBERED = 256

_IDS = sa.ARRAY(sa.Uuid())


@lru_cache(REMEMBERED)
def find_wrong(model: EntityModel, name: str) -> CompiledStatement:
    """Return the array of the numbers of rows with a file in the field that they may not hold; lock the other files."""
    given = materialized(_given(model, name), "given files")
    purpose = constant(purpose_of(model, model.by_name[name]), sa.Text())
    allowed = sa.select(FILES.c.id, given.c.n).select_from(FILES.join(given, given.c.file_id == FILES.c.id))
    allowed = allowed.where(of_tenant(FILES), FILES.c.purpose == purpose, _may_hold(model, given))
    locked = materialized(allowed.order_by(FILES.c.id, given.c.n).with_for_update(of=FILES), "allowed files")
    # Of two rows with one file, the first holds it.
    firsts = sa.select(locked.c.id, func.min(locked.c.n).label("n")).group_by(locked.c.id).cte("first rows")
    is_first = exists_in(firsts, firsts.c.id == given.c.file_id, firsts.c.n == given.c.n).correlate(given)
    numbers = sa.select(given.c.n).where(~is_first).distinct().subquery("wrong")
    return compiled(sa.select(func.array_agg(postgresql.aggregate_order_by(numbers.c.n, numbers.c.n))))


@lru_cache(REMEMBERED)
def find_files(model: EntityModel, name: str) -> CompiledStatement:
    """Return the array of the files in the field."""
    return compiled(sa.select(func.array_agg(_given(model, name).subquery("given files").c.file_id)))


def _given(model: EntityModel, name: str) -> Select[Any]:
    """Select the files in a field of the temporary table, with the numbers and ids of their rows."""
    field, (incoming, number, row_id) = model.by_name[name], numbered(model)
    n, row, column = number.label("n"), row_id.label("row_id"), incoming.c[name]
    if field.link is None:
        return sa.select(n, row, column.label("file_id")).where(column.is_not(None))
    sent = func.unnest(transferred(field, column)).table_valued(sa.column("id", sa.Uuid()))
    sent = sent.render_derived(name="u")
    return sa.select(n, row, sent.c.id.label("file_id")).select_from(incoming, sent)


def _may_hold(model: EntityModel, given: CTE) -> Truth:
    age = constant(ATTACHED_WITHIN.total_seconds(), sa.Double()) * sa.literal_column("interval '1 second'")
    is_new = sa.and_(FILES.c.state == constant("temporary"), FILES.c.created_by == BY, FILES.c.since > AT - age)
    of_row = sa.and_(FILES.c.entity == constant(model.plural), FILES.c.row_id == given.c.row_id)
    return is_new | sa.and_(FILES.c.state.in_([constant("held"), constant("released")]), of_row)


@lru_cache(REMEMBERED)
def hold(registry: Registry, model: EntityModel, name: str) -> CompiledStatement:
    """Let the stored rows hold those of the ``files`` that they name."""
    rows, row_id, file_id = holders(registry, model, name)
    change = sa.update(FILES).values(state=constant("held"), since=AT, entity=constant(model.plural), row_id=row_id)
    named = FILES.c.id == sa.any_(parameter("files", _IDS)), file_id == FILES.c.id
    return compiled(change.where(of_tenant(FILES), of_tenant(rows), *named))


@lru_cache(REMEMBERED)
def release(registry: Registry, model: EntityModel, name: str) -> CompiledStatement:
    """Release the files that ``rows`` do not name any more."""
    rows, row_id, file_id = holders(registry, model, name)
    is_named = exists_in(rows, of_tenant(rows), row_id == FILES.c.row_id, file_id == FILES.c.id).correlate(FILES)
    of_rows = [
        FILES.c.entity == constant(model.plural),
        FILES.c.row_id == sa.any_(parameter("rows", _IDS)),
        FILES.c.purpose == constant(purpose_of(model, model.by_name[name]), sa.Text()),
        FILES.c.state == constant("held"),
    ]
    change = sa.update(FILES).values(state=constant("released"), since=AT)
    return compiled(change.where(of_tenant(FILES), *of_rows, ~is_named))


def holders(
    registry: Registry, model: EntityModel, name: str
) -> tuple[sa.Table, sa.ColumnElement[object], sa.ColumnElement[object]]:
    """Return the table that names the files of a field, with its columns for the row and the file."""
    if model.by_name[name].link is None:
        table = table_of(registry, model)
        return table, table.c.id, table.c[name]
    junction = junction_of(registry, model, name)
    return junction, junction.c.source_id, junction.c.target_id
