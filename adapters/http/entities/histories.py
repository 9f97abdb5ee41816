"""The endpoint of what happened to a row."""

from dataclasses import dataclass
from typing import Annotated, Protocol
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from adapters.http.bridge import Bypassing, reaching
from adapters.http.entities.queries import EntityQueries
from adapters.http.entities.rows import words
from adapters.http.request.endpoint import Answer, Call, Endpoint, Shown, entity_limit, needs
from adapters.http.request.old_responses import entity_data, wire_time
from adapters.http.request.paths import id_in
from application.entities.histories import Histories
from application.ports.entities.history import Action, FieldChange
from domain.entities.declaration import EntityModel, Registry


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


@dataclass(frozen=True)
class HistoryEndpoints:
    model: EntityModel
    histories: Histories
    queries: EntityQueries

    async def page(self, call: Call) -> Answer:
        query = self.queries.history(call.signed_in, call.parameters())
        entries, total = await self.histories.page(call.reach, self.model, id_in(call, "id"), query)
        page = HistoryPage(
            items=[HistoryEntry(one.version, one.action, wire_time(one.at), one.by, one.changes) for one in entries],
            page=query.page,
            page_size=query.page_size,
            total_count=total,
            total_pages=-(-total // query.page_size),
            has_next_page=query.offset + len(entries) < total,
            has_previous_page=query.page > 1,
        )
        return entity_data(call, msgspec.json.encode(page))


class KeepingHistories(Bypassing, Protocol):
    @property
    def registry(self) -> Registry: ...
    @property
    def histories(self) -> Histories: ...


def histories_endpoints(services: KeepingHistories) -> list[Endpoint]:
    registry = services.registry
    kept = (model for model in registry if model.declaration.history)
    made = (HistoryEndpoints(model, services.histories, EntityQueries(model, registry)) for model in kept)
    return [reaching(services.cross_tenant_access, _page(one)) for one in made]


def _page(made: HistoryEndpoints) -> Endpoint:
    model = made.model
    return Endpoint(
        method="GET",
        path=f"/api/{model.plural}/{{id}}/history",
        run=made.page,
        policy=needs(model.permission("read")),
        limit=entity_limit(model.plural, "history"),
        area="B",
        operation=f"{model.plural}.history",
        tag=model.plural,
        summary=f"What happened to one of the {words(model.plural)}",
        description="Who changed which fields from what to what, and when; the newest first.",
        shown=(Shown(200, "data", HistoryPage),),
        parameters=made.queries.history_parameters(),
        errors=("VALIDATION_ERROR",),
    )
