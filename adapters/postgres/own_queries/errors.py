"""Errors of SQLAlchemy and advanced-alchemy as errors of the domain, which are answered in the service's envelope."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from advanced_alchemy.exceptions import AdvancedAlchemyError, NotFoundError
from sqlalchemy.exc import NoResultFound, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm.exc import StaleDataError

from adapters.postgres.connection.driver_errors import causes
from adapters.postgres.connection.failures import translated
from domain.errors import Conflict, Error, NotFound, SerializationConflict, ServiceUnavailable


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raises an error of the domain in place of one that has a meaning there.

    No such row: NotFound. A key that exists or is missing: Conflict. Changed meanwhile: SerializationConflict. No
    connection: ServiceUnavailable.
    """
    try:
        yield
    except (SQLAlchemyError, AdvancedAlchemyError) as error:
        meaning = next((found for cause in causes(error) if (found := _meaning(cause)) is not None), None)
        if meaning is None:
            raise
        raise meaning from error


def _meaning(error: BaseException) -> Error | None:
    match error:
        case NotFoundError() | NoResultFound():
            return NotFound()
        case StaleDataError():
            return SerializationConflict()
        case PoolTimeoutError():
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
