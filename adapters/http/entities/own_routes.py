"""Handlers of a user's own: one router with dependencies for the database and the rows of each entity."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, cast

from litestar import Request, Router
from litestar.constants import RESERVED_KWARGS
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from adapters.http.entities.bodies import EntityBodies
from adapters.http.entities.own_rows import EntityAccess, Rows
from adapters.http.request.strict_request import StrictRequest
from adapters.http.use_cases import UseCases
from application.ports.database import Database
from application.ports.entities.records import RecordTransaction

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
    return Router("/", route_handlers=routes, dependencies={"database": _database(services.database), **provided})


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
