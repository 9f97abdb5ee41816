"""Handler for the history of a row."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from msgspec import Meta, Struct

from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import entity_operation, may_read
from adapters.http.request.body import while_asked_for
from adapters.http.request.responses import EntityData, entity_data, wire_time
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.entities.histories import Histories
from application.ports.entities.history import Action, FieldChange


class HistoryEntry(Struct, frozen=True):
    version: int
    action: Action
    at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    by: UUID | None
    changes: tuple[FieldChange, ...]


class HistoryPage(Struct, frozen=True, rename="camel"):
    items: list[HistoryEntry]
    page: int
    page_size: int
    total_count: int
    total_pages: int
    has_next_page: bool
    has_previous_page: bool


def history_handler(entity: ServedEntity, histories: Histories) -> HTTPRouteHandler:
    model = entity.model

    async def history(request: StrictRequest, id: PathId) -> Response[EntityData[HistoryPage]]:  # noqa: A002  # the path's name
        query = entity.queries.history(request.caller, request.parameters())
        reading = histories.page(entity.scope(request), model, read_id(id), query)
        entries, total = await while_asked_for(request.receive, reading)
        page = HistoryPage(
            items=[HistoryEntry(row.version, row.action, wire_time(row.at), row.by, row.changes) for row in entries],
            page=query.page,
            page_size=query.page_size,
            total_count=total,
            total_pages=-(-total // query.page_size),
            has_next_page=query.offset + len(entries) < total,
            has_previous_page=query.page > 1,
        )
        return entity_data(request, msgspec.json.encode(page))

    return get(
        "/{id:str}/history",
        **entity_operation(
            model,
            "history",
            "What happened to one of the {}",
            may_read(model),
            parameters=entity.parameters.history,
        ),
        description="Who changed which fields from what to what, and when; the newest first.",
    )(history)
