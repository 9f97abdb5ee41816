"""The database as one use case sees it: transactions, each with a scope."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from domain.scope import Scope

Rooms_co = TypeVar("Rooms_co", covariant=True)
"""The rooms of the database that a use case works in; each file of ports names its own."""


class Database(Protocol[Rooms_co]):
    """The one store of truth. Raises ServiceUnavailable while it is away, and recovers by itself when it is back."""

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Rooms_co]:
        """Leaving it commits, an exception rolls all of it back; inside, nothing else is awaited."""
        ...

    def reading(self, scope: Scope) -> AbstractAsyncContextManager[Rooms_co]:
        """A connection without a transaction around it: each statement stands, and commits, alone."""
        ...
