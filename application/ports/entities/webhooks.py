"""Webhooks and their deliveries in the database, and their signatures."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.entities.changes import ChangesTransaction, LogEntry, Places
from application.ports.entities.records import RecordTransaction
from application.ports.identity.service_accounts import ServiceAccountTransaction
from domain.entities.webhooks.deliveries import Delivery, DeliveryOutcome, DeliveryState
from domain.entities.webhooks.signatures import SignatureScheme
from domain.entities.webhooks.webhooks import Webhook


class Signer(Protocol):
    """Signatures of Standard Webhooks 1.0."""

    def new_secret(self) -> bytes:
        """Return a random secret for either scheme."""
        ...

    def shown(self, scheme: SignatureScheme, secret: bytes) -> str:
        """Return the text for receivers: ``whsec_…`` with the secret (``v1``), ``whpk_…`` with the public key."""
        ...

    def signature(self, scheme: SignatureScheme, secret: bytes, text: bytes) -> str:
        """Return the signature of ``signed_text`` with its scheme, such as ``v1,K5oZ…``."""
        ...


class WebhookSecrets(Protocol):
    """Sealing of secrets for the database."""

    def seal(self, owner_id: UUID, secret: bytes) -> str: ...

    def open(self, owner_id: UUID, sealed: str) -> bytes | None:
        """Return the secret; None if it was sealed for another webhook or with another secret key."""
        ...


class ListedWebhook(Struct, frozen=True):
    """A webhook with the number of its waiting deliveries."""

    webhook: Webhook
    waiting: int


class Webhooks(Protocol):
    """The webhooks of a tenant."""

    async def all(self, tenant_id: UUID) -> list[ListedWebhook]:
        """Return the webhooks, oldest first."""
        ...

    async def get(self, tenant_id: UUID, webhook_id: UUID) -> ListedWebhook | None: ...

    async def count(self, tenant_id: UUID) -> int:
        """Return the number of webhooks; concurrent calls wait until the transaction ends."""
        ...

    async def lock(self, tenant_id: UUID, webhook_id: UUID, *, waits: bool) -> Webhook | None:
        """Return the webhook, locked until the transaction ends; None also if it is locked and ``waits`` is False."""
        ...

    async def add(self, webhook: Webhook) -> None: ...

    async def save(self, webhook: Webhook) -> None:
        """Store all but ``last_success_at``, ``last_status`` and, while it is active, ``failing_since``.

        Outcomes of deliveries write these fields at any time.
        """
        ...

    async def remove(self, tenant_id: UUID, webhook_id: UUID) -> bool:
        """Remove the webhook with its deliveries; return False if it does not exist."""
        ...


class WebhooksOfAllTenants(Protocol):
    """The webhooks of all tenants, for background tasks and commands."""

    async def after(self, last: UUID | None, most: int) -> list[Webhook]:
        """Return the next webhooks of all tenants after the id ``last`` in the order of ids, or the first ones."""
        ...

    async def behind(self, most: int) -> list[tuple[UUID, UUID]]:
        """Return the tenants and ids of active webhooks with entries to examine, of all tenants."""
        ...


class DeliveryListing(Struct, frozen=True, kw_only=True):
    """A page of a webhook's deliveries, latest first; None does not filter."""

    tenant_id: UUID
    webhook_id: UUID
    page: int
    page_size: int
    states: Collection[DeliveryState] = ()
    event: str | None = None


class Claimed(Struct, frozen=True):
    """A delivery with its entry of the log, None if the log does not store it any more."""

    delivery: Delivery
    entry: LogEntry | None


class WebhookClaim(Struct, frozen=True):
    """Due deliveries of one webhook, leased to the caller."""

    webhook: Webhook
    claimed: Sequence[Claimed]


class Failing(Struct, frozen=True):
    """A webhook with the start of its failures."""

    tenant_id: UUID
    webhook_id: UUID
    since: datetime


OVERDUE_AFTER = timedelta(hours=1)


class WebhookBacklog(Struct, frozen=True):
    """Webhooks of all tenants that fail and that the service has disabled, and their deliveries.

    ``overdue`` deliveries are due for an hour.
    """

    failing: int = 0
    disabled: int = 0
    overdue: int = 0
    waiting: int = 0
    given_up: int = 0


class ClaimSize(Struct, frozen=True, kw_only=True):
    """Maximum lanes of a claim, failing lanes among them, and deliveries for each webhook.

    A lane is a host of a tenant. A webhook that fails has one delivery at a time.
    """

    lanes: int
    failing_lanes: int
    deliveries: int


class Deliveries(Protocol):
    """Deliveries of webhooks. Some are leased, to the process that sends them now."""

    async def page(self, listing: DeliveryListing) -> tuple[list[Delivery], int]: ...

    async def add(self, deliveries: Sequence[Delivery]) -> None:
        """Store the deliveries; one that exists waits again, with all its tries."""
        ...

    async def retry(self, tenant_id: UUID, webhook_id: UUID, delivery_id: UUID, now: datetime) -> bool:
        """Make a delivery due again, with all its tries; return False if it does not exist."""
        ...

    async def places_at(self, at: datetime) -> Places:
        """Return the positions of the last entries before the time, within the scope of one tenant.

        Without such entries: the positions before the first stored ones.
        """
        ...

    async def claim(self, now: datetime, lease: timedelta, size: ClaimSize) -> list[WebhookClaim]:
        """Lease due deliveries of active webhooks, whose service account and tenant are active.

        No lane is claimed while a lease in it is live. In the order ``row``, only the first waiting delivery of a row
        is claimed. Requires the scope of every tenant and a transaction.
        """
        ...

    async def release(self, deliveries: Sequence[Delivery]) -> None:
        """End the leases of deliveries that were not tried."""
        ...

    async def finish(self, outcomes: Sequence[DeliveryOutcome], now: datetime) -> list[Failing]:
        """Store the outcomes, end the leases, and update the health of the webhooks; return those that fail."""
        ...

    async def backlog(self, now: datetime) -> WebhookBacklog:
        """Return the backlog of all tenants. Requires the scope of every tenant."""
        ...


class WebhookTransaction(ServiceAccountTransaction, RecordTransaction, ChangesTransaction, Protocol):
    """Transaction for webhooks."""

    @property
    def webhooks(self) -> Webhooks: ...
    @property
    def webhooks_of_all_tenants(self) -> WebhooksOfAllTenants: ...
    @property
    def deliveries(self) -> Deliveries: ...
