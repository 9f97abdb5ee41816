"""Errors of the driver as errors of the domain: a lost connection is an outage, any other error a fault."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import asyncpg

from domain.errors import Conflict, SerializationConflict, ServiceUnavailable

AWAY = (
    OSError,
    asyncio.TimeoutError,
    # The driver's protocol is out of step: a farewell of the server arrived between two statements, or a migration
    # has changed the table behind a prepared one.
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # stopped, starting, cancelled by a time limit
    asyncpg.TooManyConnectionsError,
    asyncpg.DiskFullError,
    asyncpg.OutOfMemoryError,
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,  # a server that is no longer the first one
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""Errors that say nothing about the request: the connection was lost or a time limit passed, and the same request can
succeed in a moment."""

CONFLICTS = (
    asyncpg.TransactionRollbackError,  # deadlock, serialisation
    # A migration changed the type of a column that a prepared statement returns. Outside a transaction asyncpg prepares
    # it anew by itself; in one, the whole transaction has to begin again, and then finds no prepared statement.
    asyncpg.InvalidCachedStatementError,
)
"""Errors of a transaction that succeeds when it is begun again."""

BROKEN = (OSError, asyncio.TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresConnectionError)

HALF_WAY = (asyncio.CancelledError, asyncio.TimeoutError, asyncpg.InterfaceError, asyncpg.DataError)
"""Errors that leave a statement between two of its messages: given up, or prepared with values that cannot be sent."""


class NotConnected(Exception):
    """Cause of the driver's error on a connection that could not be opened; ``url`` is a secret, and in no text."""

    def __init__(self, url: str) -> None:
        super().__init__("No connection to PostgreSQL could be opened.")
        self.url = url


@contextmanager
def opening(url: str) -> Iterator[None]:
    """Around a connection as it is opened: errors keep the driver's class, and ``refused_url`` finds the URL."""
    try:
        yield
    except Exception as error:
        raise error from NotConnected(url)


def refused_url(error: BaseException) -> str | None:
    """URL of the connection that could not be opened; None for an error of another time."""
    # ServiceUnavailable has the driver's error as its cause
    for cause in (error.__cause__, error.__cause__ and error.__cause__.__cause__):
        if isinstance(cause, NotConnected):
            return cause.url
    return None


class Closable(Protocol):
    def is_closed(self) -> bool: ...


@contextmanager
def translated(connection: Closable | None = None) -> Iterator[None]:
    """Raises SerializationConflict or ServiceUnavailable where an error means that; any other error as it is.

    ``connection`` is the one in use, None while one is being opened.
    """
    try:
        yield
    # It may have been committed, although asyncpg counts it among the transactions that were rolled back.
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
    """Around the first steps on a new connection: ConnectionResetError where the server has closed it meanwhile.

    Nobody has the connection yet, so that ``is_away`` cannot ask it.
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
        # The class alone does not tell: the driver has one for a wrong argument and for a connection that is closed,
        # and a file that cannot be opened is an OSError too.
        return is_system_error if connection is None else connection.is_closed()
    return isinstance(error, AWAY)


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
