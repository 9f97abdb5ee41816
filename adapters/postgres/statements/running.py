"""Execution of compiled statements with arguments by name.

``patience`` is the time limit in seconds, None for the connection's limit.
"""

from collections.abc import Mapping
from typing import Any

import asyncpg

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.statements.compiled import CompiledStatement

Arguments = Mapping[str, Any]
"""Arguments by name; more names than parameters are allowed."""


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
