"""Errors of the driver as errors of the domain."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import asyncpg

from domain.errors import Conflict, SerializationConflict, ServiceUnavailable

AWAY = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # stopped, starting, cancelled by a time limit
    asyncpg.InsufficientResourcesError,  # too many connections, disk full
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,  # a server that is no longer the first one
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""Errors that say nothing about the request: the same one can succeed in a moment."""

BROKEN = (OSError, asyncio.TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresConnectionError)


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except asyncpg.TransactionRollbackError as error:  # deadlock, serialisation
        raise SerializationConflict from error
    except AWAY as error:
        raise ServiceUnavailable from error


@contextmanager
def taken(names: Mapping[str, tuple[str, str]]) -> Iterator[None]:
    """A unique value that exists, by its constraint's name: the field and the sentence that it stands for."""
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        field = names.get(error.constraint_name or "")
        if field is None:
            raise
        raise Conflict.on(*field) from None
