"""Links read apart from the statement that writes or locks their rows."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any
from uuid import UUID

import asyncpg
import sqlalchemy as sa
from sqlalchemy import func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.writing.link_statements import stored_links
from adapters.postgres.statements.compiled import CompiledStatement, compiled, parameter
from adapters.postgres.statements.links import junction_of
from adapters.postgres.statements.rows import TENANT, table_of
from adapters.postgres.statements.running import fetch
from adapters.postgres.statements.writing import IDS, REMEMBERED, is_among, owned_and_living, owner_columns
from application.ports.entities.records import Values
from domain.entities.declaration import EntityModel, Registry
from domain.entities.owning import Limits

_ENDS = ("source_id", "target_id", "place")


async def links_of_rows(
    connection: ServiceConnection, registry: Registry, model: EntityModel, limits: Limits, owned: Mapping[str, Any]
) -> Mapping[UUID, Values]:
    """Return the links of the live rows among ``ids`` by field name."""
    rows = await fetch(connection, read_links(registry, model, limits), owned)
    return {row["id"]: {field.name: row[field.name] for field in model.links} for row in rows}


async def with_fresh_links(
    model: EntityModel, answer: Sequence[asyncpg.Record], read: Callable[[list[UUID]], Awaitable[Mapping[UUID, Values]]]
) -> Sequence[Any]:
    """Return the rows of a write, with links ``read`` again where its snapshot was older than the row."""
    places = {place: field.name for place, field in enumerate(model.fields) if field.link is not None}
    id_place = len(model.fields)
    stale = [row[id_place] for row in answer if row[id_place] is not None and any(row[n] is None for n in places)]
    if not stale:
        return answer
    links = await read(stale)
    fresh: list[Any] = []
    for row in answer:
        found = links.get(row[id_place], {})
        fresh.append([found.get(places[n], []) if n in places else value for n, value in enumerate(row)])
    return fresh


@asynccontextmanager
async def links_aside(
    connection: ServiceConnection, registry: Registry, model: EntityModel, owned: Mapping[str, Any]
) -> AsyncIterator[None]:
    """Store the links of the rows ``ids`` again after the block, which deletes the rows and inserts them again."""
    names = [field.name for field in model.links]
    aside = {name: await fetch(connection, read_junction(registry, model, name), owned) for name in names}
    yield
    for name, rows in aside.items():
        columns = {end: [row[end] for row in rows] for end in _ENDS}
        await fetch(connection, fill_junction(registry, model, name), {**owned, **columns})


@lru_cache(REMEMBERED)
def read_links(registry: Registry, model: EntityModel, limits: Limits) -> CompiledStatement:
    """Select the ``id`` of live rows among ``ids``, and their links by field name."""
    table = table_of(registry, model)
    values = (value.label(name) for name, value in stored_links(registry, model, table, limits).items())
    return compiled(sa.select(table.c.id, *values).where(*owned_and_living(model, table), is_among(table.c.id)))


@lru_cache(REMEMBERED)
def read_junction(registry: Registry, model: EntityModel, name: str) -> CompiledStatement:
    """Select all links of the rows ``ids``, including those to deleted targets."""
    junction = junction_of(registry, model, name)
    owner = [junction.c.tenant_id == TENANT] if "tenant_id" in junction.c else []
    return compiled(sa.select(*(junction.c[end] for end in _ENDS)).where(*owner, junction.c.source_id == sa.any_(IDS)))


@lru_cache(REMEMBERED)
def fill_junction(registry: Registry, model: EntityModel, name: str) -> CompiledStatement:
    """Insert links from three arrays."""
    junction = junction_of(registry, model, name)
    kinds = {end: junction.c[end].type for end in _ENDS}
    arrays = (parameter(end, ARRAY(kind)) for end, kind in kinds.items())
    rows = func.unnest(*arrays).table_valued(*(sa.column(end, kind) for end, kind in kinds.items()))
    rows = rows.render_derived(name="g")
    values = {**owner_columns(model), **{end: rows.c[end] for end in _ENDS}}
    return compiled(sa.insert(junction).from_select(list(values), sa.select(*values.values())))
