"""Asyncpg errors wrapped by SQLAlchemy and advanced-alchemy."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from sqlalchemy.exc import DBAPIError


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes: from advanced-alchemy, SQLAlchemy, SQLAlchemy's dialect and the driver."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


@contextmanager
def unwrapped() -> Iterator[None]:
    """Raise the driver's error in place of SQLAlchemy's, for callers that know only the driver's."""
    try:
        yield
    except DBAPIError as error:
        for cause in causes(error):
            if isinstance(cause, asyncpg.PostgresError | asyncpg.InterfaceError):
                raise cause from error
        raise
