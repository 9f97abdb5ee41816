"""Handlers of streams of changes: of all entities, and of one with its filters."""

from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Operation

from adapters.http.entities.changes.event_stream import MEDIA_TYPE, EventStream
from adapters.http.entities.changes.feed_parameters import ENTITIES, STREAM_START
from adapters.http.entities.changes.followed import LIMIT, AllFeeds, interest_in
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import may_read
from adapters.http.request.rules import TENANT_TOKEN, operation
from adapters.http.request.strict_request import StrictRequest
from application.entities.changes.following import Interests
from application.entities.changes.streams.streams import Streams
from domain.entities.changes.asking import RESUMING, Asked, read_feed
from domain.entities.changes.cursors import FeedCursor, read_feed_cursor
from domain.entities.declaration import Registry
from domain.scope import Scope

ERRORS = ("CURSOR_EXPIRED",)
LAST_EVENT_ID = b"last-event-id"
TEXT = """Changes as server-sent events, from the cursor or from now on. `id` is the cursor after the event. The \
service ends a stream with `expired` or `revoked` (get another token), `behind` (your client reads too slowly) or \
`moved`; then resume from the last `id`."""


class StreamOperation(Operation):
    """A stream in the OpenAPI document."""

    def to_schema(self) -> dict[str, Any]:
        described = super().to_schema()
        described["responses"]["200"]["content"] = {MEDIA_TYPE: {"schema": {"type": "string"}}}
        return described


def stream_handler(streams: Streams, registry: Registry) -> HTTPRouteHandler:
    """GET /api/changes/stream: the stream of all entities that the caller may read."""
    feeds = AllFeeds(registry)

    async def stream(request: StrictRequest) -> Response[Any]:
        asked, named = read_feed(registry, request.parameters(), RESUMING)
        scope = request.row_scope(feeds.limits)
        return _stream(request, streams, scope, feeds.interests(request.caller, scope, named), asked)

    title = "Stream the changes of rows"
    documented = operation("changes.stream", title, TENANT_TOKEN, *ERRORS, parameters=(*STREAM_START, ENTITIES))
    return get("/stream", **documented, description=TEXT, operation_class=StreamOperation)(stream)


def entity_stream_handler(entity: ServedEntity, streams: Streams) -> HTTPRouteHandler:
    model = entity.model

    async def stream(request: StrictRequest) -> Response[Any]:
        asked, where = entity.queries.feed(request.caller, request.parameters(), RESUMING)
        scope = entity.scope(request)
        interests = {model.plural: interest_in(request.caller, scope, entity.fields, where)}
        return _stream(request, streams, scope, interests, asked)

    named = f"Stream the changes of {model.plural.replace('-', ' ')}"
    of_entity = operation(
        f"{model.plural}.stream", named, may_read(model), *ERRORS, parameters=entity.parameters.stream, limit=LIMIT
    )
    return get("/changes/stream", **of_entity, description=TEXT, operation_class=StreamOperation)(stream)


def _stream(request: StrictRequest, streams: Streams, scope: Scope, interests: Interests, asked: Asked) -> EventStream:
    return EventStream(streams.pieces(request.caller, scope, interests, _last_seen(request) or asked.after))


def _last_seen(request: StrictRequest) -> FeedCursor | None:
    # Browsers send an empty header before the first event.
    last = request.header(LAST_EVENT_ID)
    return read_feed_cursor(last) if last else None
