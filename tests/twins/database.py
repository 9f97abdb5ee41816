"""A database with the tables of both schemas, whose rows last as long as an example."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg
from sqlalchemy.dialects.postgresql import dialect
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from adapters.postgres.connection.codecs import set_codecs
from adapters.postgres.connection.connections import SESSION, ServiceConnection
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import EntityModel, Registry
from domain.entities.registry import build_registry
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
            for model in registry:
                await self._store(model, rows[model.table])
            yield self.connection
        finally:
            await transaction.rollback()

    async def _store(self, model: EntityModel, rows: Sequence[Row]) -> None:
        owner = ["tenant_id"] if model.tenant_owned else []
        names = [*owner, *(field.name for field in model.fields if field.name != "tenant_id")]
        columns, numbers = ", ".join(names), ", ".join(f"${n + 1}" for n in range(len(names)))
        values = [[getattr(row[name], "value", row[name]) for name in names] for row in rows]
        await self.connection.executemany(f"INSERT INTO {model.table} ({columns}) VALUES ({numbers})", values)


async def connect(url: str, kinds: Sequence[type[Any]]) -> ServiceConnection:
    """As the owner of fresh tables, whom no row-level security holds."""
    connection = await asyncpg.connect(url, connection_class=ServiceConnection, server_settings=SESSION)
    await set_codecs(connection)
    for statement in _tables(build_registry(kinds)):
        await connection.execute(statement)
    return connection


def _tables(registry: Registry) -> list[str]:
    own = {model.table for model in registry}
    tables = [table for table in metadata_for(registry).sorted_tables if table.name in own]
    made = dialect()  # type: ignore[no-untyped-call]
    statements: list[ExecutableDDLElement] = []
    for table in tables:
        statements += [CreateTable(table), *(CreateIndex(index) for index in table.indexes)]
    return [str(statement.compile(dialect=made)) for statement in statements]
