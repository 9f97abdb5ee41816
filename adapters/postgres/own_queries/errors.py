"""Translation of SQLAlchemy and advanced-alchemy errors to domain errors, for the service's error format."""

import asyncpg
from advanced_alchemy.exceptions import AdvancedAlchemyError, NotFoundError
from sqlalchemy.exc import DBAPIError, NoResultFound, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm.exc import StaleDataError

from adapters.postgres.connection.driver_errors import causes
from adapters.postgres.connection.failures import translated
from domain.errors import Conflict, Error, NotFound, SerializationConflict, ServiceUnavailable

OWN_QUERY_ERRORS = (SQLAlchemyError, AdvancedAlchemyError)
"""Classes of a session's errors that may correspond to a domain error."""


def domain_error(error: Exception) -> Error | None:
    """Return the domain error for a session's error; None for a programming error.

    Missing row: NotFound. Existing unique value or missing reference target: Conflict. Concurrent change or deadlock:
    SerializationConflict. No connection or time limit: ServiceUnavailable.
    """
    # Exception handlers call this function. If a session dependency translated errors itself, Litestar would raise an
    # ExceptionGroup and respond with 500.
    return next((found for cause in causes(error) if (found := _meaning(cause)) is not None), None)


def _meaning(error: BaseException) -> Error | None:
    match error:
        case NotFoundError() | NoResultFound():
            return NotFound()
        case StaleDataError():
            return SerializationConflict()
        case PoolTimeoutError() | DBAPIError(connection_invalidated=True):
            return ServiceUnavailable()
        case asyncpg.UniqueViolationError() | asyncpg.ForeignKeyViolationError():
            return Conflict()
    try:
        with translated():
            raise error
    except Error as meaning:
        return meaning
    except BaseException:  # noqa: BLE001  # not one that has a meaning
        return None
