"""A user's own handlers: their router, inputs and responses."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import msgspec
from litestar import Request, Router
from litestar.constants import RESERVED_KWARGS
from litestar.di import Provide
from litestar.response import Response
from litestar.response.base import ASGIResponse
from litestar.routes import HTTPRoute
from litestar.types import ControllerRouterHandler, ExceptionHandlersMap
from msgspec.structs import replace

from adapters.http.entities.idempotency import replayed, write_of
from adapters.http.entities.page_json import page_body
from adapters.http.request.errors import answer_error
from adapters.http.request.responses import Headers, Json, entity_data, etag
from adapters.http.request.rules import RULES, rules
from adapters.http.request.strict_request import StrictRequest
from adapters.http.use_cases import TenantSessions, UseCases
from application.entities.guarded_fields import GuardedFields
from application.entities.own_rows import EntityAccess, Rows, RowsPage, StoredRow
from application.entities.own_transactions import RowsTransaction
from application.entities.writing import IdempotencyKey, Write
from application.ports.whole_database import Transaction, WholeDatabase
from domain.entities.owning import RowLimits
from domain.errors import BadRequest, ServiceUnavailable
from domain.scope import OneTenant, Scope

TAKEN = RESERVED_KWARGS | {"caller", "client", "database", "session", "tenant_scope"}
WRITES = "own_writes"
"""Key in the request's state that counts the writes of a handler."""


class OwnRequest(StrictRequest):
    """Request of a user's own handler, for reading and writing rows.

    ``tenant_scope`` shows all rows of the tenant, or with ``rules(own=True)`` those that generated routes show.
    """

    limits: ClassVar[RowLimits]

    @property
    def tenant_scope(self) -> Scope:
        scope = super().tenant_scope
        is_limited = self.route_handler.opt[RULES].own
        return self.limits.of(scope, self.caller) if is_limited else scope

    async def next_write(self) -> Write:
        write, state = write_of(self, self.tenant_scope, await _sent_body(self)), self.scope["state"]
        number = state[WRITES] = state.get(WRITES, 0) + 1
        if write.idempotency_key is None or number == 1:
            return write
        return replace(write, idempotency_key=_numbered(write.idempotency_key, number))


@dataclass(frozen=True)
class TenantDatabase:
    """The database with the rights of the request's caller: ``async with database.transaction() as tx: …``."""

    whole: WholeDatabase
    entities: tuple[EntityAccess, ...]
    request: OwnRequest

    def read_only(self) -> AbstractAsyncContextManager[RowsTransaction]:
        """Open a read-only connection for the caller's tenant or ``X-Tenant-Scope``; statements have own snapshots."""
        return self._lent(self.whole.read_only(self.request.tenant_scope), locks=False)

    def transaction(self) -> AbstractAsyncContextManager[RowsTransaction]:
        """Open a transaction: it commits at the end of the block, and rolls back after an error."""
        return self._lent(self.whole.transaction(self.request.written_tenant), locks=True)

    @asynccontextmanager
    async def _lent(
        self, opened: AbstractAsyncContextManager[Transaction], *, locks: bool
    ) -> AsyncIterator[RowsTransaction]:
        async with opened as tx:
            lent = RowsTransaction(tx, self.entities, self.request, locks=locks)
            try:
                yield lent
            finally:
                lent.end()


def own_router(services: UseCases, routes: Sequence[ControllerRouterHandler]) -> Router:
    """Return the router of a project's handlers. The argument ``order_lines`` receives the rows of ``order-lines``."""
    rows = tuple(
        EntityAccess(model, services.crud, services.batches, GuardedFields(model, services.registry))
        for model in services.registry
    )
    provided = {argument_name(entity.model.plural): _rows(entity) for entity in rows}
    sources = {"database": _database(services.database, rows), "session": _session(services.own_queries)}
    return Router(
        "/",
        route_handlers=routes,
        opt=rules(any_query=False),
        request_class=type("OwnRequest", (OwnRequest,), {"limits": RowLimits(services.registry, None)}),
        dependencies={**sources, **provided},
        exception_handlers=_query_errors(services.own_queries),
    )


def methods_and_paths(router: Router) -> list[str]:
    """Return a router's methods by path, as ``GET /api/stock/low``. The caller has refused non-HTTP handlers."""
    served: list[str] = []
    routes = [route for route in router.routes if isinstance(route, HTTPRoute)]
    # Litestar stores paths in a set, so their order differs at each start.
    for route in sorted(routes, key=lambda route: route.path_format):
        # Litestar adds an OPTIONS handler to each path.
        handlers = [handler for handler in route.route_handlers if handler.http_methods != {"OPTIONS"}]
        methods = sorted(method for handler in handlers for method in handler.http_methods)
        served += [f"{method} {route.path_format}" for method in methods]
    return served


def argument_name(plural: str) -> str:
    """Convert ``order-lines`` to ``order_lines``; append ``_rows`` if Litestar or the service uses the name."""
    name = plural.replace("-", "_")
    return f"{name}_rows" if name in TAKEN else name


def _rows(entity: EntityAccess) -> Provide:
    """A closure: registering a router copies objects deeply, but not functions."""

    async def provide(request: Request[Any, Any, Any]) -> Rows[Any]:
        return Rows(entity, cast(OwnRequest, request))

    return Provide(provide)


def _database(database: WholeDatabase, entities: tuple[EntityAccess, ...]) -> Provide:
    async def provide(request: Request[Any, Any, Any]) -> TenantDatabase:
        return TenantDatabase(database, entities, cast(OwnRequest, request))

    return Provide(provide)


def _session(own_queries: TenantSessions | None) -> Provide:
    """An SQLAlchemy session that ends before the response is sent."""

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
    """Translate a session's errors to the service's errors."""
    if own_queries is None:
        return {}

    def answer(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        return answer_error(request, own_queries.domain_error(error) or error)

    return dict.fromkeys(own_queries.errors, answer)


def _numbered(given: IdempotencyKey, number: int) -> IdempotencyKey:
    """Return a separate key for a later write: with the request's key, it would receive the first write's answer."""
    return replace(given, key=hashlib.sha256(f"{number}\n{given.key}".encode()).hexdigest())


async def _sent_body(request: StrictRequest) -> bytes:
    if request.header(b"idempotency-key") is None:
        return b""
    kind = request.header(b"content-type") or ""
    if kind.startswith("multipart/"):
        # The handler may already have consumed a form, so use the form's length.
        return (request.header(b"content-length") or "").encode()
    return await request.body()


class DataResponse(Json):
    """Envelope of area B around a row, a page of rows or any other value: ``return DataResponse(row)``.

    For a row with versions, the response has an ``ETag``. In annotations the envelope is
    ``Response[EntityData[Product]]``.
    """

    def __init__(self, value: object, status: int | None = None, headers: Headers | None = None) -> None:
        super().__init__(_encoded(value), status, {**_of_row(value), **(headers or {})})

    def to_asgi_response(self, app: Any, request: Request[Any, Any, Any], **options: Any) -> ASGIResponse:
        enveloped = entity_data(cast(StrictRequest, request), self.content, self.status_code, self.headers)
        enveloped.background, enveloped.cookies = self.background, self.cookies
        return enveloped.to_asgi_response(app, request, **options)


def _of_row(value: object) -> Headers:
    if not isinstance(value, StoredRow):
        return {}
    tag = {"etag": etag(value.version)} if value.version else {}
    return {**tag, **replayed(value.is_replayed)}


def _encoded(value: object) -> bytes:
    match value:
        case StoredRow():
            return value.body
        case RowsPage():
            return page_body(value.query, value.shown)
    return msgspec.json.encode(value)
