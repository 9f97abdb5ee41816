"""Translation of driver errors to domain errors: a lost connection is an outage, any other error a fault."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import asyncpg

from domain.errors import Conflict, SerializationConflict, ServiceUnavailable

AWAY = (
    OSError,
    asyncio.TimeoutError,
    # The driver's protocol is out of step: the server closed the connection between two statements, or a migration
    # changed the table of a prepared one.
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # stopped, starting, cancelled by a time limit
    asyncpg.TooManyConnectionsError,
    asyncpg.DiskFullError,
    asyncpg.OutOfMemoryError,
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,  # a server that is no longer the primary
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""Errors independent of the request: the connection was lost or a time limit passed, so a retry can succeed."""

CONFLICTS = (
    asyncpg.TransactionRollbackError,  # deadlock, serialisation
    # A migration changed a result type of a prepared statement. asyncpg prepares it again only outside a transaction.
    # Inside, the whole transaction must be retried without a prepared statement.
    asyncpg.InvalidCachedStatementError,
)
"""Errors of a transaction that can succeed on a retry."""

BROKEN = (OSError, asyncio.TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresConnectionError)

HALF_WAY = (asyncio.CancelledError, asyncio.TimeoutError, asyncpg.InterfaceError, asyncpg.DataError)
"""Errors that interrupt a statement between two messages: it was cancelled, or its values cannot be sent."""


class NotConnected(Exception):
    """Cause of a failed attempt to connect. ``url`` is a secret, so no text contains it."""

    def __init__(self, url: str) -> None:
        super().__init__("No connection to PostgreSQL could be opened.")
        self.url = url


@contextmanager
def opening(url: str) -> Iterator[None]:
    """Wrap the opening of a connection: errors retain the driver's class, and gain the URL."""
    try:
        yield
    except Exception as error:
        raise error from NotConnected(url)


def refused_url(error: BaseException) -> str | None:
    """Return the URL of the connection that failed to open; None for other errors."""
    # The driver's error may be the cause.
    for cause in (error.__cause__, error.__cause__ and error.__cause__.__cause__):
        if isinstance(cause, NotConnected):
            return cause.url
    return None


class Closable(Protocol):
    def is_closed(self) -> bool: ...


@contextmanager
def translated(connection: Closable | None = None) -> Iterator[None]:
    """Translate driver errors to SerializationConflict or ServiceUnavailable where they mean a conflict or an outage.

    ``connection`` is the connection in use, None while it is being opened.
    """
    try:
        yield
    # The statement may have been committed, although asyncpg treats it as rolled back.
    except asyncpg.StatementCompletionUnknownError as error:
        raise ServiceUnavailable from error
    except CONFLICTS as error:
        raise SerializationConflict from error
    except (*AWAY, asyncpg.InterfaceError) as error:
        if not is_away(error, connection):
            raise
        raise ServiceUnavailable from error


@contextmanager
def prepared(connection: Closable) -> Iterator[None]:
    """Wrap the first steps on a new connection. Raises ConnectionResetError if the server has closed it.

    ``is_away`` cannot check the connection, because no caller has it yet.
    """
    try:
        yield
    except asyncpg.InterfaceError as error:
        if connection.is_closed():
            raise ConnectionResetError("The server closed the connection as it was made.") from error
        raise


def is_away(error: BaseException, connection: Closable | None) -> bool:
    is_system_error = isinstance(error, OSError) and not isinstance(error, TimeoutError)
    if is_system_error or isinstance(error, asyncpg.InterfaceError):
        # The error's class is not enough: the driver has one class for wrong arguments and closed connections, and an
        # OSError may be an error of a file.
        return is_system_error if connection is None else connection.is_closed()
    return isinstance(error, AWAY)


@contextmanager
def taken(names: Mapping[str, tuple[str, str]]) -> Iterator[None]:
    """Return the field and the message for a duplicate unique value, by the constraint's name."""
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        field = names.get(error.constraint_name or "")
        if field is None:
            raise
        raise Conflict.on(*field) from None
