"""/api/webhooks/{id}/deliveries: the deliveries of a webhook, retries, replays and tests."""

from typing import TypeAlias

import msgspec
from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.identity.administration.listing import PAGE_PARAMETERS
from adapters.http.request.responses import NO_STORE, EntityData, NoBody, entity_data
from adapters.http.request.rules import Parameter, action, needs, operation, rules
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.entities.webhooks.deliveries import DeliveryAdministration
from application.entities.webhooks.forms import DeliveryPage, ReplayForm, TestResult
from domain.entities.webhooks.deliveries import DELIVERY_STATES
from domain.limits import Limit

TESTS = Limit("webhooks.test", 10)
PARAMETERS = (
    *PAGE_PARAMETERS,
    Parameter("state", {"type": "string"}, f"One or more of {', '.join(DELIVERY_STATES)}, between commas."),
    Parameter("event", {"type": "string"}, "Only deliveries of this event, such as `orders.changed`."),
)
Deliveries: TypeAlias = NamedDependency[DeliveryAdministration]


class DeliveriesController(Controller):
    path = "/api/webhooks/{webhook_id:str}"
    tags = ("webhooks",)
    opt = rules(area="B")

    @get(
        "/deliveries",
        **operation("webhooks.deliveries", "List deliveries", needs("read:webhooks"), parameters=PARAMETERS),
        description="The latest first. Deliveries are stored for 30 days, without the bodies of responses.",
    )
    async def page(
        self, request: StrictRequest, webhook_id: PathId, webhook_deliveries: Deliveries
    ) -> Response[EntityData[DeliveryPage]]:
        found = await webhook_deliveries.page(request.caller, read_id(webhook_id), request.parameters())
        return entity_data(request, msgspec.json.encode(found), headers=NO_STORE)

    @post(
        "/deliveries/{message_id:str}/retry",
        **operation("webhooks.retry", "Send a delivery again", needs("update:webhooks")),
        description="With the same `webhook-id`, and with all its tries.",
        status_code=204,
    )
    async def retry(
        self, request: StrictRequest, webhook_id: PathId, message_id: PathId, webhook_deliveries: Deliveries
    ) -> Response[None]:
        await webhook_deliveries.retry(request.caller, read_id(webhook_id), message_id)
        return NoBody()

    @post(
        "/replay",
        **operation("webhooks.replay", "Deliver past events again", needs("update:webhooks"), "CURSOR_EXPIRED"),
        description="Events between two timestamps or cursors of the feed, with the same `webhook-id` as before. The "
        "deliveries are added in the background.",
        status_code=204,
    )
    async def replay(
        self, request: StrictRequest, webhook_id: PathId, data: JSONBody[ReplayForm], webhook_deliveries: Deliveries
    ) -> Response[None]:
        await webhook_deliveries.replay(request.caller, read_id(webhook_id), data, request.from_client)
        return NoBody()

    @post(
        "/test",
        **action("webhooks.test", "Send a test", needs("update:webhooks"), limit=TESTS),
        description="Sends the event `webhook.test` once, and answers with the receiver's status.",
    )
    async def test(
        self, request: StrictRequest, webhook_id: PathId, webhook_deliveries: Deliveries
    ) -> Response[EntityData[TestResult]]:
        result = await webhook_deliveries.test(request.caller, read_id(webhook_id))
        return entity_data(request, msgspec.json.encode(result), headers=NO_STORE)
