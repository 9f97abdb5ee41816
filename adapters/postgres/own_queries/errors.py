"""Errors of SQLAlchemy and advanced-alchemy as errors of the domain, which are answered in the service's envelope."""

import asyncpg
from advanced_alchemy.exceptions import AdvancedAlchemyError, NotFoundError
from sqlalchemy.exc import DBAPIError, NoResultFound, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm.exc import StaleDataError

from adapters.postgres.connection.driver_errors import causes
from adapters.postgres.connection.failures import translated
from domain.errors import Conflict, Error, NotFound, SerializationConflict, ServiceUnavailable

OWN_QUERY_ERRORS = (SQLAlchemyError, AdvancedAlchemyError)
"""Classes of error that leave a session; each may have a meaning in the domain."""


def domain_error(error: Exception) -> Error | None:
    """Error of the domain that an error of a session stands for; None for one that is a programmer's.

    No such row: NotFound. A unique value that exists, a reference to nothing: Conflict. A row that changed meanwhile, a
    deadlock: SerializationConflict. No connection, no free one, a time limit: ServiceUnavailable.
    """
    # A function for exception handlers, and not a part of the session: where a dependency that yields raises another
    # error than the handler's, Litestar makes an ExceptionGroup of it, which is answered 500.
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
