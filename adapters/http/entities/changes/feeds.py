"""Handlers that answer pages of the feed: of all entities, and of one with its filters."""

from collections.abc import Iterable
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response, Router, get
from litestar.handlers import HTTPRouteHandler
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from adapters.http.entities.changes.feed_parameters import FEED_PAGING
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import may_read
from adapters.http.request.body import while_asked_for
from adapters.http.request.responses import EntityData, entity_data, wire_time
from adapters.http.request.rules import TENANT_TOKEN, Parameter, operation, rules
from adapters.http.request.strict_request import StrictRequest
from adapters.http.routers import FreshRouter
from application.entities.changes.following import FeedEvent, FeedPage, Following, Interests
from application.entities.guarded_fields import GuardedFields
from domain.entities.changes.asking import read_feed
from domain.entities.changes.feeds import IDENTITY_ENTITIES
from domain.entities.changes.identity_events import ensure_may_read_identity
from domain.entities.changes.seeing import EventAction, Interest
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import MEMBERS
from domain.entities.owning import RowLimits
from domain.entities.query.query import Condition
from domain.limits import Limit
from domain.scope import Caller, OwnRows, Scope

LIMIT = Limit("changes", 120)
ERRORS = ("CURSOR_EXPIRED",)
TEXT = """Changes after the cursor, in their order. Without `after` the answer has no items, only the cursor of this \
moment. A page may be empty while `hasMore` is true: ask again with its cursor. 410 CURSOR_EXPIRED means that the \
changes are no longer stored: load the rows again."""
_ENTITIES = Parameter("entities", {"type": "string"}, "Entities between commas; without it, all that you may read.")


class RowChange(Struct, frozen=True):
    """A change of a row; ``data`` is the row after it, null for rows that are gone or too large (``truncated``)."""

    entity: str
    id: UUID
    version: int
    action: EventAction
    at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    by: UUID | None
    changed: tuple[str, ...]
    data: dict[str, Any] | Raw | None
    truncated: bool | UnsetType = UNSET


class ChangePage(Struct, frozen=True, rename="camel"):
    items: list[RowChange]
    cursor: str
    has_more: bool


def changes_router(following: Following, registry: Registry) -> Router:
    """/api/changes: the feed of all entities that the caller may read."""
    limits = RowLimits(registry, None)
    fields = {model.plural: GuardedFields(model, registry) for model in registry if model.declaration.changes}

    async def changes(request: StrictRequest) -> Response[EntityData[ChangePage]]:
        asked, named = read_feed(registry, request.parameters())
        scope = request.row_scope(limits)
        interests = interests_of(request.caller, scope, registry, fields, named)
        return page_of(
            request, await while_asked_for(request.receive, following.page(request.caller, scope, interests, asked))
        )

    handler = get(
        "/",
        **operation(
            "changes.list", "Follow the changes of rows", TENANT_TOKEN, *ERRORS, parameters=(*FEED_PAGING, _ENTITIES)
        ),
        description=TEXT,
    )(changes)
    opt = rules(area="B", limit=LIMIT, takes_scope=True, any_query=False)
    return FreshRouter("/api/changes", route_handlers=[handler], tags=["changes"], opt=opt)


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


def interests_of(
    caller: Caller, scope: Scope, registry: Registry, fields: dict[str, GuardedFields], named: Iterable[str] | None
) -> Interests:
    """Return what the caller follows. Raises Forbidden for a named entity that the caller may not read."""
    if named is None:
        chosen = [plural for plural, each in fields.items() if caller.rights.may(*each.model.permissions("read"))]
    else:
        chosen = [plural for plural in named if plural in fields]
        for plural in chosen:
            caller.ensure_may(*fields[plural].model.permissions("read"))
    return {
        **{plural: interest_in(caller, scope, fields[plural], ()) for plural in chosen},
        **identity_interests(caller, registry, named or ()),
    }


def identity_interests(caller: Caller, registry: Registry, named: Iterable[str]) -> Interests:
    """Return the interests in members, roles and tenants. Raises Forbidden for one that the caller may not read."""
    chosen = [plural for plural in IDENTITY_ENTITIES if plural in named]
    for plural in chosen:
        ensure_may_read_identity(plural, caller)
    # These entries have no filters and no rules, so any model without rules serves.
    return {plural: Interest(model=registry[MEMBERS]) for plural in chosen}


def interest_in(caller: Caller, scope: Scope, fields: GuardedFields, where: tuple[Condition, ...]) -> Interest:
    model: EntityModel = fields.model
    is_limited = isinstance(scope, OwnRows) and model.plural in scope.sees
    own_of = scope.user_id if isinstance(scope, OwnRows) and is_limited else None
    return Interest(model=model, hidden=fields.hidden_from(caller), where=where, own_of=own_of)


def page_of(request: StrictRequest, page: FeedPage) -> Response[Any]:
    items = [row_change(event) for event in page.events]
    body = msgspec.json.encode(ChangePage(items, page.cursor, page.has_more))
    return entity_data(request, body)


def row_change(event: FeedEvent) -> RowChange:
    entry, seen = event.entry, event.seen
    return RowChange(
        entity=entry.entity,
        id=entry.row_id,
        version=entry.version,
        action=seen.action,
        at=wire_time(entry.at),
        by=entry.by,
        changed=seen.changed,
        data=seen.data,
        truncated=True if seen.truncated else UNSET,
    )
