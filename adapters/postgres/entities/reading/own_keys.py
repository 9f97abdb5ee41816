"""The keys of memberships and shares of a caller limited to own rows, read before a statement on many rows.

A subquery would leave PostgreSQL without an estimate of the number of own rows. It would then read all rows of a tenant
in their order for a caller with few own rows, or sort all rows for a caller with many.
"""

from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from adapters.postgres.connection.connections import Connection
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant
from adapters.postgres.statements.owning import OWN_KEYS, keys_of
from domain.entities.declaration import Registry

MOST_KEYS = 1_000
"""Maximum number of keys of a rule. PostgreSQL needs 3 ms to plan for as many; above, it looks rows up one by one."""

REMEMBERED = 512
"""Number of cached statements, most recently used."""


_ENOUGH = constant(MOST_KEYS + 1)


async def with_own_keys(
    connection: Connection, registry: Registry, statement: CompiledStatement, values: dict[str, Any]
) -> dict[str, Any]:
    """Return the values with the keys that the statement needs; null for more than ``MOST_KEYS``."""
    names = tuple(name for name in statement.parameters if name.startswith(OWN_KEYS) and name not in values)
    if not names:
        return values
    statement = _keys_statement(registry, names)
    (row,) = await connection.fetch(statement.text, *statement.arguments(values))
    return values | dict(zip(names, row, strict=True))


@lru_cache(REMEMBERED)
def _keys_statement(registry: Registry, names: tuple[str, ...]) -> CompiledStatement:
    arrays = [sa.func.array(keys_of(registry, name).limit(_ENOUGH).scalar_subquery()).label(name) for name in names]
    # OFFSET prevents PostgreSQL from reading the keys twice.
    found = sa.select(*arrays).offset(constant(0)).subquery()
    return compiled(sa.select(*(sa.case((sa.func.cardinality(each) < _ENOUGH, each)) for each in found.c)))
