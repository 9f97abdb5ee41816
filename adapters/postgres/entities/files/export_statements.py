"""Core statements that export rows by COPY: one for the cells of a file, another for JSON."""

from collections.abc import Iterator, Mapping
from functools import lru_cache, reduce

import msgspec
import sqlalchemy as sa
from msgspec import structs
from sqlalchemy import FromClause, func

from adapters.postgres.entities.reading.linked import link_values
from adapters.postgres.entities.reading.rows import Shape
from adapters.postgres.entities.reading.select_rows import SIZE, SelectRows
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant
from adapters.postgres.statements.json_values import SHOWN_KINDS, json_text
from adapters.postgres.statements.planning import planned_for_values
from adapters.postgres.statements.rows import Value
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.kinds import Kind
from domain.entities.sheets import ABOVE, BELOW, FORMULA, Column, exported_columns, may_be_formula

MOST_ARGUMENTS = 80
"""Maximum number of arguments in a call of concat(); the server accepts 100."""

MOST_CELLS = 1_664
"""Maximum number of columns in a SELECT."""

REMEMBERED = 256
"""Number of cached export shapes of each kind, most recently used."""

# These constants contain no $, because asyncpg inserts the arguments of a COPY into the text.

_NULL, _COMMA = constant("null", sa.Text()), constant(",", sa.Text())


@lru_cache(maxsize=REMEMBERED)
def cells_statement(registry: Registry, model: EntityModel, shape: Shape, *, is_escaped: bool) -> CompiledStatement:
    """Return the statement with a text column per cell; ``is_escaped`` prevents formulas in spreadsheets.

    Above the maximum of columns in a SELECT, it has one column: a JSON array of the cells.
    """
    making = SelectRows(registry, model, shape)
    joined, rows = _included(making)
    columns = cell_columns(registry, model, shape)
    # Numbered, because the server cuts names at 63 bytes.
    values = [_value(making, *rows[column.steps], column) for column in columns]
    pairs = enumerate(zip(values, columns, strict=True))
    cells = [_cell(value, column, is_escaped).label(f"c{n}") for n, (value, column) in pairs]
    if len(cells) <= MOST_CELLS:
        return compiled(_ordered(making, sa.select(*cells), joined))
    parts = [part for cell in cells for part in (_COMMA, func.coalesce(json_text(sa.cast(cell, sa.Text())), _NULL))]
    line = _concatenated([constant("["), *parts[1:], constant("]")])
    return compiled(_ordered(making, sa.select(line.label("cells")), joined))


def cell_columns(registry: Registry, model: EntityModel, shape: Shape) -> list[Column]:
    return exported_columns(registry, model, shape.view, shows_tenant=shape.reach.is_every)


@lru_cache(maxsize=REMEMBERED)
def json_statement(registry: Registry, model: EntityModel, shape: Shape) -> CompiledStatement:
    """Return a single column: the row as JSON, an item of a list."""
    # Text concatenation needs half the time of row_to_json.
    making = SelectRows(registry, model, shape)
    own = structs.replace(shape.view, include=())
    columns = exported_columns(registry, model, own, shows_tenant=shape.reach.is_every)
    parts = {column.name: _json(column.field, _value(making, making.rows, model, column)) for column in columns}
    for name, value in making.members(model, making.rows, ()):
        if name not in parts:
            parts[name] = func.coalesce(sa.cast(value, sa.Text()), _NULL)
    text = _concatenated(list(_object(parts)))
    return compiled(_ordered(making, sa.select(text.label("row")), making.rows))


@lru_cache(maxsize=REMEMBERED)
def counting_statement(registry: Registry, model: EntityModel, shape: Shape) -> CompiledStatement:
    """Count the rows of an export, up to ``size``."""
    found = SelectRows(registry, model, shape).matching().limit(SIZE).subquery("r")
    return compiled(planned_for_values(sa.select(func.count()).select_from(found)))


def _ordered(making: SelectRows, columns: "sa.Select[tuple[str]]", joined: FromClause) -> "sa.Select[tuple[str]]":
    rows, ordered = making.order(joined)
    return columns.select_from(rows).where(*making.where).order_by(*(key.order for key in ordered))


def _included(making: SelectRows) -> tuple[FromClause, Mapping[tuple[str, ...], tuple[FromClause, EntityModel]]]:
    found: dict[tuple[str, ...], tuple[FromClause, EntityModel]] = {(): (making.rows, making.model)}
    joined: FromClause = making.rows
    for steps in making.shape.view.include:
        near, model = found[steps[:-1]]
        target, far, on, _ = making.related(model.relations[steps[-1]], near)
        joined = joined.outerjoin(far, sa.and_(*on))
        found[steps] = (far, target)
    return joined, found


def _value(making: SelectRows, rows: FromClause, model: EntityModel, column: Column) -> Value:
    field = column.field
    if field.link is None:
        return rows.c[field.name]
    ids = link_values(making.registry, model, rows, [field.name], making.shape.reach)[field.name]
    return sa.case((rows.c.id.is_not(None), ids)) if column.steps else ids


def _cell(value: Value, column: Column, is_escaped: bool) -> Value:
    if is_escaped and may_be_run(column.field):
        # The comparisons avoid the regular expression for nearly every cell.
        is_near = sa.or_(value < constant(BELOW), value >= constant(ABOVE))
        formula = sa.and_(is_near, value.regexp_match(constant(FORMULA)))
        return sa.case((formula, constant("'").concat(value)), else_=value)
    return SHOWN_KINDS[column.field.kind].cell(value)


def may_be_run(field: FieldModel) -> bool:
    return field.kind is Kind.TEXT or (field.kind is Kind.CHOICE and any(map(may_be_formula, field.choices)))


def _json(field: FieldModel, value: Value) -> Value:
    text = SHOWN_KINDS[field.kind].json(value)
    return func.coalesce(text, _NULL) if field.nullable else text


def _object(members: Mapping[str, Value]) -> Iterator[Value]:
    for number, (name, value) in enumerate(members.items()):
        key = msgspec.json.encode(name).decode()
        yield constant(f"{',' if number else '{'}{key}:")
        yield value
    yield constant("}")


def _concatenated(parts: list[Value]) -> Value:
    # concat() ignores nulls; || would return null.
    calls = [func.concat(*parts[n : n + MOST_ARGUMENTS]) for n in range(0, len(parts), MOST_ARGUMENTS)]
    return reduce(lambda before, call: before.concat(call), calls)
