"""Deliveries: their ids, the times of retries, and the outcome of a try."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal
from uuid import UUID, uuid5

from msgspec import Struct

DeliveryState = Literal["waiting", "delivered", "given-up"]
DELIVERY_STATES: tuple[DeliveryState, ...] = ("waiting", "delivered", "given-up")

RETRIED_AFTER = (
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
    timedelta(hours=24),
)
"""Waits after the first, second and further failures. After one more failure, the delivery is given up."""

JITTER = 0.2
"""Greatest part by which a wait is longer or shorter, so that receivers are not asked for everything at once."""

LONGEST_RETRY_AFTER = timedelta(hours=1)
GONE = 410  # the receiver asks for no further requests


class Delivery(Struct, frozen=True, kw_only=True):
    """One event for one webhook.

    ``id`` without the prefix ``msg_`` is the ``webhook-id``. ``is_shared`` and ``position`` name the entry of the log.
    """

    tenant_id: UUID
    webhook_id: UUID
    id: UUID
    is_shared: bool
    position: int
    entity: str
    row_id: UUID
    event: str
    created_at: datetime
    state: DeliveryState = "waiting"
    tries: int = 0
    due_at: datetime
    last_status: int | None = None
    last_error: str | None = None
    duration_ms: int | None = None


class Attempt(Struct, frozen=True, kw_only=True):
    """Result of a request: a status, or the reason why none arrived, or why none was sent."""

    status: int | None = None
    error: str | None = None
    duration_ms: int = 0
    retry_after: str | None = None
    was_sent: bool = True

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class DeliveryOutcome(Struct, frozen=True, kw_only=True):
    """State of a delivery after a try."""

    delivery: Delivery
    attempt: Attempt
    state: DeliveryState
    due_at: datetime


def message_id(webhook_id: UUID, epoch: UUID, position: int, stream: str) -> UUID:
    """Return the id of an event for a webhook, equal for each delivery of it."""
    # After a restore, positions repeat for other events. The epoch keeps their ids apart.
    return uuid5(webhook_id, f"{epoch} {stream} {position}")


def outcome_of(delivery: Delivery, attempt: Attempt, now: datetime, chance: float) -> DeliveryOutcome:
    """Return the outcome; ``chance`` is a random number from 0 to 1 for the wait until the next try."""
    if attempt.is_success:
        return DeliveryOutcome(delivery=delivery, attempt=attempt, state="delivered", due_at=now)
    if delivery.tries >= len(RETRIED_AFTER):
        return DeliveryOutcome(delivery=delivery, attempt=attempt, state="given-up", due_at=now)
    wait = RETRIED_AFTER[delivery.tries] * (1 + JITTER * (2 * chance - 1))
    # A receiver can ask for a longer wait, but not for a shorter one.
    asked = read_retry_after(attempt.retry_after, now)
    return DeliveryOutcome(delivery=delivery, attempt=attempt, state="waiting", due_at=now + max(wait, asked))


def read_retry_after(text: str | None, now: datetime) -> timedelta:
    """Return the wait of the header ``Retry-After``, at most LONGEST_RETRY_AFTER; zero if it is absent or invalid."""
    if not text:
        return timedelta()
    if text.isascii() and text.isdigit():
        # Nine digits are more than the limit, and int() of thousands of digits is slow.
        wait = timedelta(seconds=min(int(text[:9]), LONGEST_RETRY_AFTER.total_seconds()))
    else:
        wait = _until(text, now)
    return max(timedelta(), min(wait, LONGEST_RETRY_AFTER))


def _until(text: str, now: datetime) -> timedelta:
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return timedelta()
    # RFC 9110: dates of HTTP are in UTC.
    return (at if at.tzinfo else at.replace(tzinfo=UTC)) - now
