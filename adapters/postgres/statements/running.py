"""Compiled statements run on a connection, their arguments given by name.

``patience`` is in seconds, None for what the connection allows every statement.
"""

from collections.abc import Mapping
from typing import Any

import asyncpg

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.statements.compiled import CompiledStatement

Arguments = Mapping[str, Any]
"""May hold more names than a statement has parameters."""


async def fetch(
    connection: ServiceConnection, statement: CompiledStatement, values: Arguments, patience: float | None = None
) -> list[asyncpg.Record]:
    return await connection.fetch(statement.text, *statement.arguments(values), timeout=patience)


async def fetch_row(
    connection: ServiceConnection, statement: CompiledStatement, values: Arguments
) -> asyncpg.Record | None:
    return await connection.fetchrow(statement.text, *statement.arguments(values))


async def fetch_value(
    connection: ServiceConnection, statement: CompiledStatement, values: Arguments, patience: float | None = None
) -> Any:
    return await connection.fetchval(statement.text, *statement.arguments(values), timeout=patience)
