"""Bodies and answers of webhooks."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from application.ports.entities.webhooks import ListedWebhook
from domain.entities.webhooks.deliveries import Delivery, DeliveryState
from domain.entities.webhooks.destinations import LONGEST_URL
from domain.entities.webhooks.signatures import SignatureScheme
from domain.entities.webhooks.webhooks import ACTIONS, MOST_PATTERNS, Content, Order, Webhook, pattern_error
from domain.errors import FieldError, ValidationError
from domain.forms import documented, text_errors

DESCRIPTION_LENGTH = 1_000
LONGEST_CURSOR = 120

Url = Annotated[str, documented(1, LONGEST_URL)]
Description = Annotated[str, documented(most=DESCRIPTION_LENGTH)]
Patterns = Annotated[list[str], Meta(min_length=1, max_length=MOST_PATTERNS)]
Place = Annotated[str, documented(1, LONGEST_CURSOR)]


class WebhookForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a new webhook. ``events`` are patterns such as ``orders.*`` and ``products.deleted``."""

    url: Url
    service_account_id: UUID
    events: Patterns
    content: Content = "full"
    signature: SignatureScheme = "v1"
    order: Order = "row"
    description: Description = ""
    is_active: bool = True


class WebhookChange(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a change; omitted fields stay. The signature cannot change."""

    url: Url | UnsetType = UNSET
    service_account_id: UUID | UnsetType = UNSET
    events: Patterns | UnsetType = UNSET
    content: Content | UnsetType = UNSET
    order: Order | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET


class ReplayForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a replay: a timestamp, or a cursor of the feed, for each end. Without ``until``: up to now."""

    after: Place
    until: Place | None = None


class Health(Struct, rename="camel", kw_only=True):
    """Health of a webhook; ``waiting`` counts the deliveries that wait."""

    state: Literal["ok", "failing", "disabled"]
    last_success_at: datetime | None
    failing_since: datetime | None
    last_status: int | None
    waiting: int


class WebhookItem(Struct, rename="camel", kw_only=True):
    """A webhook; ``public_key`` verifies signatures of ``v1a``, and is null for ``v1``."""

    id: UUID
    url: str
    service_account_id: UUID
    description: str
    events: tuple[str, ...]
    content: Content
    signature: SignatureScheme
    order: Order
    is_active: bool
    public_key: str | None
    created_at: datetime
    created_by: UUID | None
    health: Health


class NewWebhook(WebhookItem, rename="camel", kw_only=True):
    """A webhook with its new secret, shown only once; null for ``v1a``."""

    secret: str | None


class TestResult(Struct, rename="camel", kw_only=True):
    """Result of a test: the status, or the reason why no response arrived."""

    status: int | None
    duration_ms: int
    error: str | None


class DeliveryItem(Struct, rename="camel", kw_only=True):
    """A delivery; ``id`` is the ``webhook-id`` of its requests."""

    id: str
    event: str
    row_id: UUID
    state: DeliveryState
    tries: int
    due_at: datetime | None
    last_status: int | None
    last_error: str | None
    duration_ms: int | None
    created_at: datetime


class DeliveryPage(Struct, rename="camel", kw_only=True):
    items: list[DeliveryItem]
    total_count: int
    page: int
    page_size: int
    total_pages: int


def ensure_valid(form: WebhookForm | WebhookChange, feeds: Collection[str]) -> None:
    """Raise ValidationError with every invalid field; ``feeds`` are the entities with a feed."""
    errors: list[FieldError] = []
    if form.description is not UNSET:
        errors += text_errors("description", form.description, 0, DESCRIPTION_LENGTH)
    if form.events is not UNSET:
        found = ((index, pattern_error(pattern, feeds, ACTIONS)) for index, pattern in enumerate(form.events))
        errors += [FieldError(f"events[{index}]", error) for index, error in found if error is not None]
    if errors:
        raise ValidationError(fields=errors)


def webhook_item(listed: ListedWebhook, public_key: str | None) -> WebhookItem:
    webhook = listed.webhook
    return WebhookItem(
        id=webhook.id,
        url=webhook.url,
        service_account_id=webhook.service_account_id,
        description=webhook.description,
        events=webhook.events,
        content=webhook.content,
        signature=webhook.signature,
        order=webhook.order_by,
        is_active=webhook.is_active,
        public_key=public_key,
        created_at=webhook.created_at,
        created_by=webhook.created_by,
        health=_health(webhook, listed.waiting),
    )


def _health(webhook: Webhook, waiting: int) -> Health:
    return Health(
        state=webhook.state,
        last_success_at=webhook.last_success_at,
        failing_since=webhook.failing_since,
        last_status=webhook.last_status,
        waiting=waiting,
    )


def new_webhook(item: WebhookItem, secret: str | None) -> NewWebhook:
    return NewWebhook(secret=secret, **{name: getattr(item, name) for name in item.__struct_fields__})


def delivery_item(delivery: Delivery) -> DeliveryItem:
    return DeliveryItem(
        id=f"msg_{delivery.id}",
        event=delivery.event,
        row_id=delivery.row_id,
        state=delivery.state,
        tries=delivery.tries,
        due_at=delivery.due_at if delivery.state == "waiting" else None,
        last_status=delivery.last_status,
        last_error=delivery.last_error,
        duration_ms=delivery.duration_ms,
        created_at=delivery.created_at,
    )
