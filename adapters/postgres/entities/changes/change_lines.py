"""CTEs that add the entries of written rows to the log, within the statement that writes the rows."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_

import sqlalchemy as sa
from sqlalchemy import CTE, func
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import JSON

from adapters.postgres.entities.changes.tables import QUEUE
from adapters.postgres.entities.history import is_new_version
from adapters.postgres.entities.writing.link_statements import GivenLinks, with_links
from adapters.postgres.schema.sql import short_name
from adapters.postgres.statements.compiled import constant
from adapters.postgres.statements.json_values import SHOWN_KINDS, json_columns, json_object
from adapters.postgres.statements.links import Seen, linked_ids
from adapters.postgres.statements.owning import Reach, visible
from adapters.postgres.statements.rows import Truth, Value, living, rows_of
from adapters.postgres.statements.writing import AT, BY, exists_in, materialized, next_version, version_of
from application.ports.entities.history import Action
from domain.entities.changes.feeds import FORMER, LARGEST_ENTRY_BYTES
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.owning import Limits

_NO_JSON = sa.cast(sa.null(), JSON())


def change_lines(  # before only for changes and restorations, given only for changes
    registry: Registry,
    model: EntityModel,
    action: Action,
    written: CTE,
    before: CTE | None = None,
    given: Sequence[GivenLinks] = (),
) -> list[CTE]:
    """Return the CTE that adds an entry for each written row; empty for entities without a feed.

    ``written`` has the rows after the write, ``before`` those before a change or restoration, with the columns that it
    may change.
    ``given`` are the links that the statement writes.
    """
    if not model.declaration.changes:
        return []
    rows = with_links(written, _links(registry, model, action, written, given), "logged rows")
    data = json_object(json_columns(model, rows), rows)
    # Without its links, the row is unknown: a reader gets an entry without data, as for a large row.
    links = [rows.c[name] for field in model.links for name in (field.name, _former_name(field)) if name in rows.c]
    if links:
        data = sa.case((reduce(and_, (value.is_not(None) for value in links)), data))
    columns = {
        "tenant_id": rows.c.tenant_id if model.tenant_owned else sa.cast(sa.null(), sa.Uuid()),
        "row_id": rows.c.id,
        # A purge writes no row version, so use the next number.
        "version": next_version(rows) if action == "purged" else rows.c.version,
        "data": data,
        "was": _NO_JSON if before is None else _was(model, rows, before),
    }
    source = rows if before is None else rows.join(before, is_new_version(model, rows, before))
    described = sa.select(*(value.label(name) for name, value in columns.items())).select_from(source)
    line = materialized(described, "described changes").c
    is_small = reduce(and_, (_bytes(value) <= constant(LARGEST_ENTRY_BYTES) for value in (line.data, line.was)))
    values = {
        "tenant_id": line.tenant_id,
        "entity": constant(model.plural),
        "row_id": line.row_id,
        "version": line.version,
        "action": constant(action),
        "at": AT,
        "by": BY,
        "data": sa.case((is_small, line.data)),
        "was": sa.case((is_small, line.was)),
    }
    return [sa.insert(QUEUE).from_select(list(values), sa.select(*values.values())).cte("logged changes")]


def _bytes(value: Value) -> Value:
    return func.coalesce(func.octet_length(sa.cast(value, sa.Text())), constant(0))


def _was(model: EntityModel, rows: CTE, before: CTE) -> Value:
    """JSON object of the former values of the fields that differ: ``{"name": "a", "updatedBy": null}``."""
    columns = [*model.columns, *(model.by_name[name] for name in FORMER if name in model.by_name)]
    former = [(field, before.c[field.name]) for field in columns if field.name in before.c]
    former += [(field, rows.c[_former_name(field)]) for field in model.links if _former_name(field) in rows.c]
    members = [_former(field, rows.c[field.name], value) for field, value in former]
    # array_to_string omits nulls, and has no limit of arguments as a function has.
    text = func.array_to_string(postgresql.array(members or [sa.cast(sa.null(), sa.Text())]), constant(","))
    return sa.cast(constant("{", sa.Text()).concat(text).concat(constant("}", sa.Text())), JSON())


def _former_name(field: FieldModel) -> str:
    return short_name(f"was {field.name}")


def _former(field: FieldModel, now: Value, was: Value) -> Value:
    text = func.coalesce(SHOWN_KINDS[field.kind].json(was), constant("null"))
    member = constant(f'"{field.wire}":', sa.Text()).concat(text)
    return sa.case((was.is_distinct_from(now), member))


def _links(
    registry: Registry, model: EntityModel, action: Action, written: CTE, given: Iterable[GivenLinks]
) -> Mapping[str, Value]:
    """Return the links of the written rows as a reader without limits sees them; null if they are unknown.

    Links that the statement replaces have a second column with the former ones.
    """
    values = {} if action == "created" else _stored(registry, model, action, written)
    for each in given:
        name, sent = each.field.name, each.rows
        whole = each.value(written)
        if action == "created":
            values[name] = whole
            continue
        target = registry[each.field.target or ""]
        if each.limits.hide(target):
            seen = _unseen(registry, each.limits)
            unseen = linked_ids(registry, model, each.field, written, seen, _reach(model))
            whole = func.array_cat(whole, unseen, type_=unseen.type)
        is_given = exists_in(sent, sent.c.id == written.c.id, sent.c[name].is_not(None)).correlate(written)
        values[_former_name(each.field)] = values[name]
        values[name] = sa.case((is_given, whole), else_=values[name])
    return values


def _reach(model: EntityModel) -> Reach:
    """Links of the tenant of each written row."""
    return Reach(is_every=model.tenant_owned, is_single=True)


def _unseen(registry: Registry, limits: Limits) -> Seen:
    """Conditions for live targets that a writer with the limits does not see."""
    return lambda far, rows: [*living(far, rows), sa.not_(sa.and_(*visible(registry, far, rows, limits)))]


def _stored(registry: Registry, model: EntityModel, action: Action, written: CTE) -> dict[str, Value]:
    """Return the links in the statement's snapshot, if it has the version before the write.

    A statement that waits for the lock of a row sees the newest row, but links as of its snapshot.
    """
    if not model.links:
        return {}
    snapshot = rows_of(registry, model, "s")
    same: list[Truth] = [snapshot.c.tenant_id == written.c.tenant_id] if model.tenant_owned else []
    version = sa.select(version_of(snapshot)).where(*same, snapshot.c.id == written.c.id)
    version = version.correlate(written)
    former = version_of(written) if action == "purged" else version_of(written) - constant(1)
    is_fresh = version.scalar_subquery() == former
    links = {field.name: linked_ids(registry, model, field, written, living, _reach(model)) for field in model.links}
    return {name: sa.case((is_fresh, value)) for name, value in links.items()}
