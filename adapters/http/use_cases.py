"""Use cases and ports for handlers."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from adapters.http.entities.part import EntityUseCases
from adapters.http.entities.webhooks.part import WebhookUseCases
from adapters.http.identity.use_cases import IdentityUseCases
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
    """Source of SQLAlchemy sessions for users' own handlers; ``errors`` are the exceptions that a session raises."""

    @property
    def errors(self) -> Sequence[type[Exception]]: ...

    def session(self, scope: OneTenant) -> AbstractAsyncContextManager[Any]:
        """Open a session limited to the rows of one tenant. At the end of the block, the session
        rolls back and closes.
        """
        ...

    def domain_error(self, error: Exception) -> Error | None:
        """Return the domain error for one of ``errors``; None for a programming error."""
        ...


@dataclass(frozen=True, kw_only=True)
class UseCases(IdentityUseCases, EntityUseCases, WebhookUseCases, OperationUseCases):
    """All use cases and ports that handlers use. ``entrypoints.assembly.use_cases`` creates them."""

    throttle: Throttle
    registry: Registry
    database: WholeDatabase
    freshness: Freshness | None
    """None in a service without read replicas."""
    admissions: Admissions
    tokens: Tokens
    clock: Clock
    own_queries: TenantSessions | None
    """None for the memory adapters, because they have no SQL."""
