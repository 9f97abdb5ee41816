"""Stored values that violate a new declaration: removed enum members, text that is now too long."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection

from adapters.postgres.migrations.commands import run_command
from adapters.postgres.migrations.operations import FillIn
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.migrations.switches import stored_columns
from adapters.postgres.schema.schema import metadata_for
from adapters.postgres.schema.sql import DIALECT
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.kinds import Kind

Member = tuple[str, str, str]
SHOWN = 5
"""Values named in a sentence."""


async def stored_misfits(url: str, registry: Registry, folders: Sequence[Path] = (VERSIONS,)) -> list[str]:
    """Return sentences about stored values that the declarations do not allow, with the number of their rows."""
    outcome = await run_command(
        url,
        metadata_for(registry),
        folders,
        lambda commands: list(misfits(commands.config.attributes["connection"], registry)),
        commits=False,
    )
    return outcome.value


def kept_members(folders: Sequence[Path]) -> frozenset[Member]:
    """Return table, column and value of each call of ``keep_values`` in the files."""
    found: set[Member] = set()
    for folder in folders:
        for file in folder.glob("[0-9]*.py"):
            text = file.read_text("utf-8")
            for node in ast.walk(ast.parse(text)) if "keep_values(" in text else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "keep_values":
                    table, column, *values = (str(ast.literal_eval(argument)) for argument in node.args)
                    found |= {(table, column, value) for value in values}
    return frozenset(found)


def misfits(connection: Connection, registry: Registry, kept: frozenset[Member] = frozenset()) -> Iterator[str]:
    for model, field in _text_columns(connection, registry):
        if unknown := _unknown_members(connection, model, field, kept):
            yield f"{unknown} Keep these members, or map them: tenantry migrate --write asks for the statement."
        yield from _too_long(connection, model, field)


def mappings(connection: Connection, registry: Registry, kept: frozenset[Member]) -> Iterator[FillIn]:
    """Yield statement templates that map unknown values to enum members."""
    for model, field in _text_columns(connection, registry):
        if unknown := _unknown_members(connection, model, field, kept):
            yield FillIn(
                f"{unknown} Write the statement that maps them, such as {_example(model, field)!r}, or keep them by "
                f"keep_values({model.table!r}, {field.name!r}, 'the value'), which no later migration asks about: the "
                f"rows can be read, found by {field.wire}.eq, and mended one by one."
            )


def _example(model: EntityModel, field: FieldModel) -> str:
    column: sa.ColumnClause[Any] = sa.column(field.name, sa.Text())
    stated = sa.update(sa.table(model.table, column)).where(column == "old").values(**{field.name: field.choices[0]})
    return " ".join(str(stated.compile(dialect=DIALECT, compile_kwargs={"literal_binds": True})).split())


def _text_columns(connection: Connection, registry: Registry) -> Iterator[tuple[EntityModel, FieldModel]]:
    stored = stored_columns(sa.inspect(connection), [model.table for model in registry.stored])
    for model in registry.stored:
        for field in model.declared:
            if isinstance(stored.get(model.table, {}).get(field.name), sa.String):
                yield model, field


def _unknown_members(
    connection: Connection, model: EntityModel, field: FieldModel, kept: frozenset[Member]
) -> str | None:
    if field.kind is not Kind.CHOICE:
        return None
    column: ColumnElement[Any] = sa.column(field.name, sa.Text())
    counted = sa.select(column, sa.func.count()).select_from(sa.table(model.table))
    known = [*field.choices, *(value for table, name, value in kept if (table, name) == (model.table, field.name))]
    unknown = counted.where(column.not_in(known)).group_by(column).order_by(column)
    found = connection.execute(unknown).all()
    values = ", ".join(f"{value!r} in {_rows(number)}" for value, number in found[:SHOWN])
    return f"{model.table}.{field.name} has values that its enum does not know: {values}." if found else None


def _too_long(connection: Connection, model: EntityModel, field: FieldModel) -> Iterator[str]:
    column: ColumnElement[Any] = sa.column(field.name, sa.Text())
    if field.kind is Kind.TEXT and (longest := _max_length(field)) is not None:
        too_long = sa.func.char_length(column) > longest
        number = connection.execute(sa.select(sa.func.count()).select_from(sa.table(model.table)).where(too_long))
        if rows := number.scalar_one():
            yield (
                f"{model.table}.{field.name} is longer than the {longest} characters of its declaration in "
                f"{_rows(rows)}. Those stay as they are, and can only be changed together with the field."
            )


def _max_length(field: FieldModel) -> int | None:
    described = msgspec.inspect.type_info(field.type)
    kinds = described.types if isinstance(described, msgspec.inspect.UnionType) else (described,)
    return next((kind.max_length for kind in kinds if isinstance(kind, msgspec.inspect.StrType)), None)


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"
