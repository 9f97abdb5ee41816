"""The text of the statements that copy rows out: one for a file's cells, one for JSON. Pure."""

from collections.abc import Sequence
from itertools import chain

import msgspec
from msgspec import structs

from adapters.postgres.entities.reading.json import moment, quoted
from adapters.postgres.entities.reading.rows import related_rows, rows_of
from adapters.postgres.entities.reading.select_text import SelectText, Shape
from domain.entities.declaration import EntityModel, FieldModel, Kind, Registry
from domain.entities.sheets import BELOW, FORMULA, Column, exported_columns

_RUN = "'" + FORMULA.replace("'", "''") + "'"
MOST_ARGUMENTS = 80
"""Of one call; the server takes 100."""


def cells_text(registry: Registry, model: EntityModel, shape: Shape, *, is_escaped: bool) -> str:
    """A column per cell, all of it text; ``is_escaped`` keeps a spreadsheet from running it."""
    text = SelectText(registry, model, shape)
    aliases, joins = _included(registry, model, shape)
    columns = exported_columns(registry, model, shape.view, shows_tenant=shape.reach.is_every)
    listed = ", ".join(f"{_cell(aliases[one.steps], one, is_escaped)} AS {quoted(one.name)}" for one in columns)
    return f"SELECT {listed} {_rows(text, joins)}"


def json_text(registry: Registry, model: EntityModel, shape: Shape) -> str:
    """One column: the row as a list's item is, put together as text, which takes half the time of row_to_json."""
    text = SelectText(registry, model, shape)
    own = structs.replace(shape.view, include=())
    columns = exported_columns(registry, model, own, shows_tenant=shape.reach.is_every)
    parts = {one.name: _json(one.field) for one in columns}
    parts |= {
        name: f"coalesce({value}::text, 'null')" for name, value in text.columns(model, "t", ()) if name not in parts
    }
    written = [(_literal(f"{',' if n else '{'}{_key(name)}:"), part) for n, (name, part) in enumerate(parts.items())]
    return f"SELECT {_joined([*chain.from_iterable(written), _literal('}')])} AS row {_rows(text, [])}"


def _joined(parts: Sequence[str]) -> str:
    calls = [parts[n : n + MOST_ARGUMENTS] for n in range(0, len(parts), MOST_ARGUMENTS)]
    return " || ".join(f"concat({', '.join(one)})" for one in calls)


def _key(name: str) -> str:
    return msgspec.json.encode(name).decode()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _json(one: FieldModel) -> str:
    column = f"t.{quoted(one.name)}"
    value = _JSON.get(one.kind, "to_json({0})::text").format(moment(column) if one.kind is Kind.TIMESTAMP else column)
    return f"coalesce({value}, 'null')" if one.nullable else value


def counting_text(registry: Registry, model: EntityModel, shape: Shape) -> str:
    """The last parameter is where counting ends."""
    text = SelectText(registry, model, shape)
    rows = rows_of(model, "t", shape.reach, include_deleted=shape.view.include_deleted)
    conditions = " AND ".join([*rows.conditions, *text.conditions()]) or "true"
    return f"SELECT count(*) FROM (SELECT FROM {rows.text} WHERE {conditions} LIMIT {text.size}) r"


def _rows(text: SelectText, joins: list[str]) -> str:
    rows = rows_of(text.model, "t", text.shape.reach, include_deleted=text.shape.view.include_deleted)
    ordering, ordered = text.order()
    conditions = " AND ".join([*rows.conditions, *text.conditions()]) or "true"
    order = ", ".join(one.order for one in ordered)
    return f"FROM {' '.join([rows.text, *joins, *ordering])} WHERE {conditions} ORDER BY {order}"


def _included(registry: Registry, model: EntityModel, shape: Shape) -> tuple[dict[tuple[str, ...], str], list[str]]:
    """A join for each included to-one; a missing one leaves its cells null."""
    found: dict[tuple[str, ...], tuple[str, EntityModel]] = {(): ("t", model)}
    joins: list[str] = []
    for steps in shape.view.include:
        near, holder = found[steps[:-1]]
        relation, far = holder.relations[steps[-1]], f"i{len(found)}"
        target = registry.target(relation)
        rows = related_rows(relation, target, (near, far), shape.reach)
        joins.append(f"LEFT JOIN {rows.text} ON {rows.on}")
        found[steps] = (far, target)
    return {steps: alias for steps, (alias, _) in found.items()}, joins


def _cell(alias: str, one: Column, is_escaped: bool) -> str:
    column = f"{alias}.{quoted(one.field.name)}"
    if is_escaped and may_be_run(one.field):
        return f"CASE WHEN {column} < '{BELOW}' AND {column} ~ {_RUN} THEN '''' || {column} ELSE {column} END"
    if one.field.kind is Kind.TIMESTAMP:
        return moment(column)
    return _CELLS.get(one.field.kind, "{0}").format(column)


def may_be_run(one: FieldModel) -> bool:
    return one.kind is Kind.TEXT or (one.kind is Kind.CHOICE and any(choice < BELOW for choice in one.choices))


_CELLS = {
    Kind.DATE: "to_char({0}, 'YYYY-MM-DD')",
    Kind.BOOLEAN: "CASE WHEN {0} THEN 'true' WHEN NOT {0} THEN 'false' END",
    Kind.UUIDS: "array_to_json({0})",
    Kind.TEXTS: "array_to_json({0})",
}
_JSON = {
    Kind.TIMESTAMP: "'\"' || {0} || '\"'",
    Kind.UUID: "'\"' || {0} || '\"'",
    Kind.INTEGER: "{0}::text",
    Kind.BIG_INTEGER: "{0}::text",
    Kind.DECIMAL: "{0}::text",
    Kind.BOOLEAN: "CASE WHEN {0} THEN 'true' WHEN NOT {0} THEN 'false' END",
}
