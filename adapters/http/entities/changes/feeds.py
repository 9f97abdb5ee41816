"""Handlers that answer pages of the feed: of all entities, and of one with its filters."""

from typing import Any

import msgspec
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from adapters.http.entities.changes.feed_parameters import ENTITIES, FEED_PAGING
from adapters.http.entities.changes.followed import LIMIT, AllFeeds, interest_in
from adapters.http.entities.changes.row_changes import RowChange, row_change
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import may_read
from adapters.http.request.body import while_asked_for
from adapters.http.request.responses import EntityData, entity_data
from adapters.http.request.rules import TENANT_TOKEN, operation
from adapters.http.request.strict_request import StrictRequest
from application.entities.changes.following import FeedPage, Following
from domain.entities.changes.asking import read_feed
from domain.entities.declaration import Registry

ERRORS = ("CURSOR_EXPIRED",)
TEXT = """Changes after the cursor, in their order. Without `after` the answer has no items, only the cursor of this \
moment. A page may be empty while `hasMore` is true: ask again with its cursor. 410 CURSOR_EXPIRED means that the \
changes are no longer stored: load the rows again."""


class ChangePage(Struct, frozen=True, rename="camel"):
    items: list[RowChange]
    cursor: str
    has_more: bool


def changes_handler(following: Following, registry: Registry) -> HTTPRouteHandler:
    """GET /api/changes: the feed of all entities that the caller may read."""
    feeds = AllFeeds(registry)

    async def changes(request: StrictRequest) -> Response[EntityData[ChangePage]]:
        asked, named = read_feed(registry, request.parameters())
        scope = request.row_scope(feeds.limits)
        interests = feeds.interests(request.caller, scope, named)
        return page_of(
            request, await while_asked_for(request.receive, following.page(request.caller, scope, interests, asked))
        )

    return get(
        "/",
        **operation(
            "changes.list", "Follow the changes of rows", TENANT_TOKEN, *ERRORS, parameters=(*FEED_PAGING, ENTITIES)
        ),
        description=TEXT,
    )(changes)


def entity_changes_handler(entity: ServedEntity, following: Following) -> HTTPRouteHandler:
    model = entity.model

    async def changes(request: StrictRequest) -> Response[EntityData[ChangePage]]:
        asked, where = entity.queries.feed(request.caller, request.parameters())
        scope = entity.scope(request)
        interests = {model.plural: interest_in(request.caller, scope, entity.fields, where)}
        return page_of(
            request, await while_asked_for(request.receive, following.page(request.caller, scope, interests, asked))
        )

    named = f"Follow the changes of {model.plural.replace('-', ' ')}"
    of_entity = operation(
        f"{model.plural}.changes", named, may_read(model), *ERRORS, parameters=entity.parameters.changes, limit=LIMIT
    )
    return get("/changes", **of_entity, description=TEXT)(changes)


def page_of(request: StrictRequest, page: FeedPage) -> Response[Any]:
    items = [row_change(event.entry, event.seen) for event in page.events]
    body = msgspec.json.encode(ChangePage(items, page.cursor, page.has_more))
    return entity_data(request, body)
