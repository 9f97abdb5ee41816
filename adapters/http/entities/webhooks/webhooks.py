"""/api/webhooks: the webhooks of the caller's tenant."""

from typing import TypeAlias

import msgspec
from litestar import Controller, Response, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import LOCATION, NO_STORE, EntityData, NoBody, entity_data
from adapters.http.request.rules import action, needs, operation, rules
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.entities.webhooks.administration import WebhookAdministration
from application.entities.webhooks.forms import NewWebhook, WebhookChange, WebhookForm, WebhookItem

HOLDS = "You can only name a service account with permissions that you hold yourself."
ONCE = "`secret` is shown in this answer and never again; with `v1a` it is null, and `publicKey` verifies signatures."
Webhooks: TypeAlias = NamedDependency[WebhookAdministration]


class WebhooksController(Controller):
    path = "/api/webhooks"
    tags = ("webhooks",)
    opt = rules(area="B")

    @get("/", **operation("webhooks.page", "List webhooks", needs("read:webhooks")))
    async def all(self, request: StrictRequest, webhooks: Webhooks) -> Response[EntityData[list[WebhookItem]]]:
        return entity_data(request, msgspec.json.encode(await webhooks.all(request.caller)), headers=NO_STORE)

    @post(
        "/",
        **operation(
            "webhooks.create",
            "Create a webhook",
            needs("create:webhooks", recent=True, people=True),
            "QUOTA_EXCEEDED",
        ),
        response_headers=[LOCATION],
        description=f"It sends events that its service account may read, from now on. {ONCE} {HOLDS}",
    )
    async def create(
        self, request: StrictRequest, data: JSONBody[WebhookForm], webhooks: Webhooks
    ) -> Response[EntityData[NewWebhook]]:
        made = await webhooks.create(request.caller, data, request.from_client)
        headers = {**NO_STORE, "location": f"/api/webhooks/{made.id}"}
        return entity_data(request, msgspec.json.encode(made), headers=headers)

    @get("/{webhook_id:str}", **operation("webhooks.get", "Read a webhook", needs("read:webhooks")))
    async def read(
        self, request: StrictRequest, webhook_id: PathId, webhooks: Webhooks
    ) -> Response[EntityData[WebhookItem]]:
        found = await webhooks.get(request.caller, read_id(webhook_id))
        return entity_data(request, msgspec.json.encode(found), headers=NO_STORE)

    @put(
        "/{webhook_id:str}",
        **operation("webhooks.update", "Change a webhook", needs("update:webhooks"), "REAUTHENTICATION_REQUIRED"),
        description="Fields sent change, fields left out stay. Another host needs a recent proof. `isActive` begins "
        f"with the events from now on. {HOLDS}",
    )
    async def update(
        self, request: StrictRequest, webhook_id: PathId, data: JSONBody[WebhookChange], webhooks: Webhooks
    ) -> Response[EntityData[WebhookItem]]:
        changed = await webhooks.update(request.caller, read_id(webhook_id), data, request.from_client)
        return entity_data(request, msgspec.json.encode(changed), headers=NO_STORE)

    @delete("/{webhook_id:str}", **operation("webhooks.delete", "Delete a webhook", needs("delete:webhooks")))
    async def remove(self, request: StrictRequest, webhook_id: PathId, webhooks: Webhooks) -> Response[None]:
        await webhooks.delete(request.caller, read_id(webhook_id), request.from_client)
        return NoBody()

    @post(
        "/{webhook_id:str}/secret",
        **action("webhooks.rotate-secret", "Make a new secret", needs("update:webhooks", recent=True, people=True)),
        description=f"The new secret and the former one both sign for 24 hours. {ONCE}",
    )
    async def rotate(
        self, request: StrictRequest, webhook_id: PathId, webhooks: Webhooks
    ) -> Response[EntityData[NewWebhook]]:
        made = await webhooks.rotate(request.caller, read_id(webhook_id), request.from_client)
        return entity_data(request, msgspec.json.encode(made), headers=NO_STORE)
