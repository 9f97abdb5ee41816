"""A database with the tables of both schemas, whose rows last as long as an example."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from adapters.memory.entities.rows import places_of
from adapters.memory.entities.state import SHARES
from adapters.postgres.connection.codecs import set_codecs
from adapters.postgres.connection.connections import SESSION, ServiceConnection
from adapters.postgres.schema.links import junction_name, tables_of
from adapters.postgres.schema.parts import BY_TABLE
from adapters.postgres.schema.row_security import MAKE_ROLE
from adapters.postgres.schema.schema import metadata_for
from adapters.postgres.schema.search import IS_POSSIBLE, MAKE_SEARCH, opened, search_index
from adapters.postgres.schema.sql import DIALECT
from domain.entities.attachments.marks import FILES
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import MEMBERS
from domain.entities.registry import build_registry
from tests.builders import NOW
from tests.twins.drawing import Row

T = TypeVar("T")


@dataclass(frozen=True)
class TwinsDatabase:
    """Hypothesis runs plain functions: each example goes through ``run``."""

    runner: asyncio.Runner
    connection: ServiceConnection

    def run(self, example: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(example)

    @asynccontextmanager
    async def stored(self, registry: Registry, rows: Mapping[str, Sequence[Row]]) -> AsyncIterator[ServiceConnection]:
        """References are as drawn: the keys are not asked."""
        transaction = self.connection.transaction()
        await transaction.start()
        try:
            await self.connection.execute("SET LOCAL session_replication_role = replica")
            await self._store_members(rows.get(MEMBERS, ()))
            await self._insert("row_shares", [{**row, "created_at": NOW} for row in rows.get(SHARES, ())])
            for model in registry.stored:
                await self._store(model, rows[model.table])
                for field in model.links:
                    await self._link(model, field.name, rows[model.table])
            yield self.connection
        finally:
            await transaction.rollback()

    async def _store_members(self, members: Sequence[Row]) -> None:
        users = {row["id"]: {"id": row["id"], "full_name": row["full_name"]} for row in members}
        await self._insert("users", list(users.values()))
        held = [{"tenant_id": row["tenant_id"], "user_id": row["id"], "joined_at": row["joined_at"]} for row in members]
        await self._insert("memberships", held)

    async def _insert(self, table: str, rows: Sequence[Row]) -> None:
        for row in rows:
            numbers = ", ".join(f"${n + 1}" for n in range(len(row)))
            await self.connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({numbers})", *row.values())

    async def _store(self, model: EntityModel, rows: Sequence[Row]) -> None:
        owner = ["tenant_id"] if model.tenant_owned else []
        own = (field.name for field in model.fields if field.name != "tenant_id" and field.link is None)
        names = [*owner, *own]
        columns, numbers = ", ".join(names), ", ".join(f"${n + 1}" for n in range(len(names)))
        values = [[getattr(row[name], "value", row[name]) for name in names] for row in rows]
        await self.connection.executemany(f"INSERT INTO {model.table} ({columns}) VALUES ({numbers})", values)

    async def _link(self, model: EntityModel, name: str, rows: Sequence[Row]) -> None:
        owner = ["tenant_id"] if model.tenant_owned else []
        names = [*owner, "source_id", "target_id", "place"]
        numbers = ", ".join(f"${n + 1}" for n in range(len(names)))
        values = [
            [*(row[column] for column in owner), row["id"], target, place]
            for row in rows
            for target, place in places_of(row, name).items()
        ]
        table = junction_name(model, name)
        await self.connection.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({numbers})", values)


_MEMBERS = """
    CREATE TABLE users (id uuid PRIMARY KEY, full_name text COLLATE "C", profile_picture_url text COLLATE "C");
    CREATE TABLE memberships (tenant_id uuid, user_id uuid, joined_at timestamptz, PRIMARY KEY (tenant_id, user_id));
    CREATE VIEW members AS SELECT m.tenant_id, m.user_id AS id, u.full_name, u.profile_picture_url, m.joined_at
    FROM memberships m JOIN users u ON u.id = m.user_id"""
"""The view as in the migration, over the columns that it reads."""


async def connect(url: str, kinds: Sequence[type[Any]]) -> ServiceConnection:
    """As the owner of fresh tables, whom no row-level security holds."""
    connection = await asyncpg.connect(url, connection_class=ServiceConnection, server_settings=SESSION)
    await set_codecs(connection)
    registry = build_registry(kinds)
    for statement in [*_tables(registry), _MEMBERS, MAKE_ROLE, MAKE_SEARCH]:
        await connection.execute(statement)
    if await connection.fetchval(IS_POSSIBLE):
        for statement in _searches(registry):
            await connection.execute(statement)
    return connection


def _searches(registry: Registry) -> Iterator[str]:
    """Indexes and functions of all searches, as migrations make them."""
    for model in registry.stored:
        fields = model.declaration.search
        if fields and model.tenant_owned:
            index = search_index(model.table, fields, by_tenant=True, beside=False)
            for statement in (CreateIndex(index), *opened(model.table, fields)):
                yield str(statement.compile(dialect=DIALECT))


def _tables(registry: Registry) -> list[str]:
    own = {SHARES, FILES, *(name for model in registry.stored for name in tables_of(model))}
    tables = [table for table in metadata_for(registry).sorted_tables if table.name in own]
    statements: list[ExecutableDDLElement] = []
    for table in tables:
        # the transactions of examples would not check the keys
        made = CreateTable(table, include_foreign_key_constraints=[])
        statements += [made, *(CreateIndex(index) for index in table.indexes)]
    parts = [f"CREATE TABLE {name}_rest PARTITION OF {name} DEFAULT" for name in sorted(BY_TABLE.keys() & own)]
    return [*(str(statement.compile(dialect=DIALECT)) for statement in statements), *parts]
