"""PrimaryReads: reads of rows without replicas."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, TypeVar

from application.ports.database import Database
from domain.scope import Scope

Transaction_co = TypeVar("Transaction_co", covariant=True)
Found = TypeVar("Found")


@dataclass(frozen=True)
class PrimaryReads(Generic[Transaction_co]):
    primary: Database[Transaction_co]

    async def read(self, scope: Scope, question: Callable[[Transaction_co], Awaitable[Found]]) -> Found:
        async with self.primary.read_only(scope) as read:
            return await question(read)

    def read_transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        return self.primary.transaction(scope)
