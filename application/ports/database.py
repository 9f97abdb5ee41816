"""The database as a use case sees it: transactions and connections, each with a scope."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from domain.scope import Scope

Transaction_co = TypeVar("Transaction_co", covariant=True)
"""The parts of the database that a use case needs; each module of ports names its own."""


class Database(Protocol[Transaction_co]):
    """The system of record. Raises ServiceUnavailable while it is away, and recovers by itself."""

    # A transaction holds locks and a connection: waiting for anything else inside could stop the whole service.
    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """A transaction: leaving the block commits, an exception rolls back. Nothing else may be awaited inside."""
        ...

    def read_only(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """A connection for reads, where each statement sees its own snapshot. A write raises InternalError."""
        ...

    def autocommit(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """A connection where each statement commits by itself, for a single write without a transaction."""
        ...
