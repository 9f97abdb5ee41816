"""Simple statements that write one row of an entity, used for most writes.

The result is the row as shown, its id and its version; or nothing in case of a problem, which the bulk statement then
reports. Decision 0010 has the measured savings. Arguments: ``tenant``, ``by``, ``at``, ``id``, for updates ``version``
(the version that the caller saw, or None), and a value for each column (``value_name``).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

import sqlalchemy as sa

from adapters.postgres.entities.changes.change_lines import change_lines
from adapters.postgres.entities.writing.link_statements import fresh_links, with_links
from adapters.postgres.schema.sql import short_name
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.links import NO_LINKS
from adapters.postgres.statements.owning import column_of, is_own, reachable
from adapters.postgres.statements.rows import Truth, Value, bind_type, key_rows, table_of
from adapters.postgres.statements.writing import (
    REMEMBERED,
    SEEN,
    creation_columns,
    exists_in,
    locked_reference,
    materialized,
    owned_and_living,
    owner_columns,
    stored_columns,
    update_columns,
    version_of,
)
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.owning import Limits

_ID = parameter("id", sa.Uuid())


def value_name(name: str) -> str:
    return f"value_{name}"


def is_plain(model: EntityModel, *, sets_links: bool = False) -> bool:
    """Returns whether a write touches only the row and uses the usual reference locks."""
    return not (sets_links or model.declaration.history or model.asks_other_rows)


@lru_cache(maxsize=REMEMBERED)
def insert_row(
    registry: Registry, model: EntityModel, limits: Limits, references: tuple[str, ...]
) -> CompiledStatement:
    """Insert a row; ``references`` are the non-null reference fields."""
    table, sent = table_of(registry, model), _sent(model.columns)
    values = {**owner_columns(model), "id": _ID, **sent, **creation_columns(model)}
    owned = [is_own(registry, model, sent.__getitem__, "create")] if limits.ask_of_new(model) else []
    row = sa.select(*values.values()).where(*_references_hold(registry, model, limits, references, sent), *owned)
    none = {field.name: NO_LINKS for field in model.links}
    insert = sa.insert(table).from_select(list(values), row)
    if not model.declaration.changes:
        return compiled(insert.returning(*stored_columns(model, table, none)))
    written = insert.returning(*table.c).cte("written rows")
    lines = change_lines(registry, model, "created", with_links(written, none, "rows without links"))
    return compiled(sa.select(*stored_columns(model, written, none)).add_cte(*lines))


@lru_cache(maxsize=REMEMBERED)
def update_row(
    registry: Registry, model: EntityModel, limits: Limits, columns: tuple[str, ...], references: tuple[str, ...]
) -> CompiledStatement:
    table, sent = table_of(registry, model), _sent(model.by_name[name] for name in columns)
    # null accepts any version
    version = parameter("version", sa.Integer())
    update = (
        sa.update(table)
        .values({**sent, **update_columns(table)})
        .where(*reachable(registry, model, table, limits, "update"))
        .where(table.c.id == _ID, version.is_(None) | (version_of(table) == version))
        .where(*_references_hold(registry, model, limits, references, sent, table))
    )
    if limits.ask_of_change(model, columns):
        after = {**table.c, **sent}
        update = update.where(is_own(registry, model, after.__getitem__, "read"))
    if model.declaration.changes:
        return _logged_update(registry, model, limits, columns, update)
    links = fresh_links(registry, model, table, version_of(table) - constant(1), limits)
    return compiled(update.returning(*stored_columns(model, table, links)))


def _logged_update(
    registry: Registry, model: EntityModel, limits: Limits, columns: tuple[str, ...], update: sa.Update
) -> CompiledStatement:
    """Return the update together with its entry in the log, which has the former values of ``columns``."""
    table, version = table_of(registry, model), parameter("version", sa.Integer())
    former = [*([table.c.tenant_id] if model.tenant_owned else []), table.c.id, table.c.version]
    rows = sa.select(*former, table.c.updated_at, table.c.updated_by, *(table.c[name] for name in columns))
    rows = rows.where(*owned_and_living(model, table), table.c.id == _ID)
    rows = rows.where(version.is_(None) | (version_of(table) == version))
    before = materialized(rows.with_for_update(key_share=True), "rows before")
    written = update.where(table.c.id == before.c.id).returning(*table.c).cte("written rows")
    links = fresh_links(registry, model, written, version_of(written) - constant(1), limits)
    lines = change_lines(registry, model, "changed", written, before)
    return compiled(sa.select(*stored_columns(model, written, links)).add_cte(*lines))


def _sent(fields: Iterable[FieldModel]) -> dict[str, Value]:
    return {field.name: parameter(value_name(field.name), bind_type(field)) for field in fields}


def _references_hold(
    registry: Registry,
    model: EntityModel,
    limits: Limits,
    references: Iterable[str],
    sent: Mapping[str, Value],
    stored: sa.Table | None = None,
) -> list[Truth]:
    """Conditions that referenced rows exist; they lock these until the transaction ends.

    A caller who does not see the referenced row, or a reference that dangles, may send it back as ``stored``.
    """
    conditions = []
    for name in references:
        reference = model.by_name[name].reference
        assert reference is not None, name
        target = registry[reference.target]
        rows = key_rows(registry, target, "t")
        seen = [is_own(registry, target, column_of(rows), "read").label(SEEN)] if limits.hide(target) else []
        found = sa.select(rows.c.id, *seen).where(*owned_and_living(target, rows), rows.c.id == sent[name])
        found = locked_reference(found, registry, model, model.by_name[name])
        # In a separate CTE, PostgreSQL locks the referenced row once, before it looks for the row to write.
        held = materialized(found, short_name(f"held {name}"))
        stays = [] if stored is None else [stored.c[name] == sent[name]]
        holds = exists_in(held, *([sa.or_(held.c[SEEN], *stays)] if seen else []))
        conditions.append(sa.or_(holds, *stays) if reference.may_dangle else holds)
    return conditions
