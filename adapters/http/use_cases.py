"""Use cases that handlers call, and the ports that they look at themselves."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from adapters.http.entities.part import EntityUseCases
from adapters.http.identity.router import IdentityUseCases
from adapters.http.operations.part import OperationUseCases
from application.freshness import Freshness
from application.ports.identity.sessions import Tokens
from application.ports.runtime import Clock
from application.ports.shared_memory import Admissions
from application.ports.whole_database import WholeDatabase
from application.throttle import Throttle
from domain.entities.declaration import Registry
from domain.errors import Error
from domain.scope import OneTenant


class TenantSessions(Protocol):
    """Source of SQLAlchemy sessions for handlers of a user's own; ``errors`` are the classes that leave a session."""

    @property
    def errors(self) -> Sequence[type[Exception]]: ...

    def session(self, scope: OneTenant) -> AbstractAsyncContextManager[Any]:
        """A session that shows the rows of one tenant, and is rolled back and closed when it is left."""
        ...

    def domain_error(self, error: Exception) -> Error | None:
        """Error that one of ``errors`` stands for; None for one that is a programmer's."""
        ...


@dataclass(frozen=True, kw_only=True)
class UseCases(IdentityUseCases, EntityUseCases, OperationUseCases):
    """All use cases and ports that handlers use; filled in by ``entrypoints.assembly.use_cases``."""

    throttle: Throttle
    registry: Registry
    database: WholeDatabase
    freshness: Freshness | None
    """None without read replicas."""
    admissions: Admissions
    tokens: Tokens
    clock: Clock
    own_queries: TenantSessions | None
    """None in memory, where nothing speaks SQL."""
