"""Handlers of a user's own: one router with dependencies for the database and the rows of each entity."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, cast

from litestar import Request, Router
from litestar.constants import RESERVED_KWARGS
from litestar.di import Provide
from litestar.response import Response
from litestar.types import ControllerRouterHandler, ExceptionHandlersMap

from adapters.http.entities.bodies import EntityBodies
from adapters.http.entities.own_rows import EntityAccess, Rows
from adapters.http.request.errors import answer_error
from adapters.http.request.rules import rules
from adapters.http.request.strict_request import StrictRequest
from adapters.http.use_cases import TenantSessions, UseCases
from application.ports.database import Database
from application.ports.entities.records import RecordTransaction
from domain.errors import BadRequest, ServiceUnavailable
from domain.scope import OneTenant

TAKEN = RESERVED_KWARGS | {"caller", "client", "database", "session", "tenant_scope"}


@dataclass(frozen=True)
class TenantDatabase:
    """The database as the request's caller reaches it: ``async with database.transaction() as tx: …``."""

    whole: Database[RecordTransaction]
    request: StrictRequest

    def read_only(self) -> AbstractAsyncContextManager[RecordTransaction]:
        """One snapshot of the rows of the caller's tenant, or of those that ``X-Tenant-Scope`` names."""
        return self.whole.read_only(self.request.tenant_scope)

    def transaction(self) -> AbstractAsyncContextManager[RecordTransaction]:
        """Commits when it is left, and undoes everything when an error leaves it."""
        return self.whole.transaction(self.request.written_tenant)


def own_router(services: UseCases, routes: Sequence[ControllerRouterHandler]) -> Router:
    """``order-lines`` is the argument ``order_lines: NamedDependency[Rows[OrderLine]]`` of a handler."""
    rows = [
        EntityAccess(model, services.crud, services.batches, EntityBodies(model, services.registry))
        for model in services.registry
    ]
    provided = {argument_name(entity.model.plural): _rows(entity) for entity in rows}
    sources = {"database": _database(services.database), "session": _session(services.own_queries)}
    return Router(
        "/",
        route_handlers=routes,
        opt=rules(any_query=False),
        dependencies={**sources, **provided},
        exception_handlers=_query_errors(services.own_queries),
    )


def argument_name(plural: str) -> str:
    """``order-lines`` → ``order_lines``; an entity called as an argument of Litestar's or ours gets ``_rows``."""
    name = plural.replace("-", "_")
    return f"{name}_rows" if name in TAKEN else name


def _rows(entity: EntityAccess) -> Provide:
    """A closure: registering a router copies it deeply, and functions are left as they are."""

    async def provide(request: Request[Any, Any, Any]) -> Rows[Any]:
        return Rows(entity, cast(StrictRequest, request))

    return Provide(provide)


def _database(database: Database[RecordTransaction]) -> Provide:
    async def provide(request: Request[Any, Any, Any]) -> TenantDatabase:
        return TenantDatabase(database, cast(StrictRequest, request))

    return Provide(provide)


def _session(own_queries: TenantSessions | None) -> Provide:
    """An SQLAlchemy session that ends with its handler, before the response is sent."""

    async def provide(request: Request[Any, Any, Any]) -> AsyncGenerator[Any, None]:
        if own_queries is None:
            raise ServiceUnavailable("A session needs PostgreSQL, and the rows of this application are in memory.")
        scope = cast(StrictRequest, request).tenant_scope
        if not isinstance(scope, OneTenant):
            raise BadRequest("A session shows one tenant: name it in X-Tenant-Scope.")
        async with own_queries.session(scope) as session:
            yield session

    return Provide(provide)


def _query_errors(own_queries: TenantSessions | None) -> ExceptionHandlersMap:
    """Answers for errors that leave a session, in the words that the service has for them."""
    if own_queries is None:
        return {}

    def answer(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        return answer_error(request, own_queries.domain_error(error) or error)

    return dict.fromkeys(own_queries.errors, answer)
