"""/api/changes and the feed of each entity."""

from litestar import Router
from litestar.handlers import HTTPRouteHandler

from adapters.http.entities.changes.feeds import changes_handler, entity_changes_handler
from adapters.http.entities.changes.followed import LIMIT
from adapters.http.entities.changes.streams import entity_stream_handler, stream_handler
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.request.rules import rules
from adapters.http.routers import FreshRouter
from adapters.http.use_cases import UseCases


def changes_router(services: UseCases) -> Router:
    handlers = [
        changes_handler(services.following, services.registry),
        stream_handler(services.streams, services.registry),
    ]
    opt = rules(area="B", limit=LIMIT, takes_scope=True, any_query=False)
    return FreshRouter("/api/changes", route_handlers=handlers, tags=["changes"], opt=opt)


def entity_change_handlers(entity: ServedEntity, services: UseCases) -> list[HTTPRouteHandler]:
    return [entity_changes_handler(entity, services.following), entity_stream_handler(entity, services.streams)]
