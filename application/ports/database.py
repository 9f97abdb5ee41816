"""The database as one use case sees it: transactions, each with a scope."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from domain.scope import Scope

Transaction_co = TypeVar("Transaction_co", covariant=True)
"""The rooms of the database that a use case works in; each file of ports names its own."""


class Database(Protocol[Transaction_co]):
    """The one store of truth. Raises ServiceUnavailable while it is away, and recovers by itself when it is back."""

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """Leaving it commits, an exception rolls all of it back; inside, nothing else is awaited."""
        ...

    def read_only(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """A connection on which each statement sees a snapshot of its own. A write on it raises InternalError."""
        ...

    def autocommit(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """A connection on which each statement commits by itself: for one write that needs no transaction."""
        ...
