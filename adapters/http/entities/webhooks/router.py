"""The router of webhooks."""

from dataclasses import fields
from typing import Any

from litestar import Router
from litestar.di import Provide

from adapters.http.entities.webhooks.deliveries import DeliveriesController
from adapters.http.entities.webhooks.part import WebhookUseCases
from adapters.http.entities.webhooks.webhooks import WebhooksController
from adapters.http.request.rules import ORDINARY, rules
from adapters.http.routers import FreshRouter


def webhooks_router(services: WebhookUseCases) -> Router:
    """Return the router; only it has the use cases as dependencies."""
    return FreshRouter(
        "/",
        route_handlers=[WebhooksController, DeliveriesController],
        dependencies={field.name: _use_case(services, field.name) for field in fields(WebhookUseCases)},
        opt=rules(area="B", limit=ORDINARY, any_query=False),
    )


def _use_case(services: WebhookUseCases, name: str) -> Provide:
    """Return a closure, not a bound method: registering a router deep-copies objects, but not functions."""

    async def provide() -> Any:
        return getattr(services, name)

    return Provide(provide)
