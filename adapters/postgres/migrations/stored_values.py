"""Stored values that a declaration does not know any more: enum members that went, text that is too long now."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection

from adapters.postgres.migrations.commands import run_command
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import EntityModel, FieldModel, Kind, Registry

SHOWN = 5
"""Values that a sentence names."""


async def stored_misfits(url: str, registry: Registry, folders: Sequence[Path] = (VERSIONS,)) -> list[str]:
    """Sentences about values that could not be written today, with the number of their rows."""
    outcome = await run_command(
        url,
        metadata_for(registry),
        folders,
        lambda commands: list(misfits(commands.config.attributes["connection"], registry)),
        commits=False,
    )
    return outcome.value


def misfits(connection: Connection, registry: Registry) -> Iterator[str]:
    inspector = sa.inspect(connection)
    for model in registry:
        if inspector.has_table(model.table):
            stored = {column["name"]: column["type"] for column in inspector.get_columns(model.table)}
            for field in model.declared:
                if isinstance(stored.get(field.name), sa.String):
                    yield from _misfits_of(connection, model, field)


def _misfits_of(connection: Connection, model: EntityModel, field: FieldModel) -> Iterator[str]:
    column: ColumnElement[Any] = sa.column(field.name, sa.Text())
    if field.kind is Kind.CHOICE:
        counted = sa.select(column, sa.func.count()).select_from(sa.table(model.table))
        unknown = counted.where(column.not_in(field.choices)).group_by(column).order_by(column)
        found = connection.execute(unknown).all()
        if found:
            values = ", ".join(f"{value!r} in {_rows(number)}" for value, number in found[:SHOWN])
            yield (
                f"{model.table}.{field.name} has values that its enum does not know: {values}. Keep these members, or "
                "map them to others in the migration, by an UPDATE."
            )
    elif field.kind is Kind.TEXT and (longest := _max_length(field)) is not None:
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
