"""The plain statement that writes one row, which is what most writes are; it answers nothing where something is in
the way, and the statement for many then says what."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from adapters.postgres.entities.reading.json import quoted
from adapters.postgres.entities.reading.row_encoder import whole
from adapters.postgres.entities.writing.writing import REMEMBERED, from_second, living, owner
from adapters.postgres.schema.sql import sql_type
from domain.entities.declaration import EntityModel

Held = tuple[tuple[str, EntityModel], ...]
"""The columns that refer to a row, and the entities they lead to."""


def is_plain(model: EntityModel) -> bool:
    """Whether nothing beside the row is to be written, or locked harder than a reference asks for."""
    return not model.declaration.history and not model.asks_other_rows


@lru_cache(maxsize=REMEMBERED)
def adding_one(model: EntityModel, held: Held) -> str:
    """Takes the tenant (of entities that tenants own), who, when, the id, and each declared value."""
    by, at, row_id = _parameters(model, "uuid", "timestamptz", "uuid")
    sent = {quoted(one.name): f"${n}::{sql_type(one)}" for n, one in enumerate(model.declared, from_second(model) + 3)}
    own = {"tenant_id": "$1::uuid"} if model.tenant_owned else {}
    acted = {"created_at": at, "updated_at": at, "created_by": by, "updated_by": by, "version": "1"}
    values = {**own, "id": row_id, **sent, **acted}
    from_held = f" FROM {', '.join(_names(held))}" if held else ""
    return f"""{_with(held, sent)}
INSERT INTO {quoted(model.table)} AS t ({", ".join(values)})
SELECT {", ".join(values.values())}{from_held}
RETURNING {_answer(model)}"""


@lru_cache(maxsize=REMEMBERED)
def changing_one(model: EntityModel, columns: tuple[str, ...], held: Held) -> str:
    """Takes the tenant, who, when, the id, the version that was seen or null, and the value of each column."""
    by, at, row_id, version = _parameters(model, "uuid", "timestamptz", "uuid", "int")
    fields = [model.by_name[name] for name in columns]
    sent = {quoted(one.name): f"${n}::{sql_type(one)}" for n, one in enumerate(fields, from_second(model) + 4)}
    acted = {"updated_at": at, "updated_by": by, "version": "t.version + 1"}
    from_held = f"\nFROM {', '.join(_names(held))}" if held else ""
    return f"""{_with(held, sent)}
UPDATE {quoted(model.table)} t
SET {", ".join(f"{name} = {value}" for name, value in {**sent, **acted}.items())}{from_held}
WHERE {owner(model, "t")} AND {living(model, "t")} AND t.id = {row_id} AND ({version} IS NULL OR t.version = {version})
RETURNING {_answer(model)}"""


def _parameters(model: EntityModel, *kinds: str) -> list[str]:
    return [f"${n}::{kind}" for n, kind in enumerate(kinds, from_second(model))]


def _with(held: Held, sent: dict[str, str]) -> str:
    """The living rows that are referred to, kept from being deleted until the transaction ends."""
    parts = [
        f"""{name} AS MATERIALIZED (
    SELECT FROM {quoted(target.table)} t
    WHERE {owner(target, "t")} AND {living(target, "t")} AND t.id = {sent[quoted(column)]} FOR SHARE)"""
        for name, (column, target) in zip(_names(held), held, strict=True)
    ]
    return f"WITH {', '.join(parts)}" if parts else ""


def _names(held: Iterable[tuple[str, EntityModel]]) -> Sequence[str]:
    return [quoted(f"held {column}") for column, _ in held]


def _answer(model: EntityModel) -> str:
    return f"{whole(model).text}, t.id, t.version"
