"""Errors of asyncpg behind those of SQLAlchemy and advanced-alchemy."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from sqlalchemy.exc import DBAPIError


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and those behind it: of advanced-alchemy, of SQLAlchemy, of its dialect, of the driver."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


@contextmanager
def unwrapped() -> Iterator[None]:
    """Raises the driver's own error in place of SQLAlchemy's, for callers that know the driver's alone."""
    try:
        yield
    except DBAPIError as error:
        for cause in causes(error):
            if isinstance(cause, asyncpg.PostgresError | asyncpg.InterfaceError):
                raise cause from error
        raise
