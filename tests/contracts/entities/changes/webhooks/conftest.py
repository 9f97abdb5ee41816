"""Webhooks of a tenant with a service account, and the use cases that deliver to them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

from adapters.joserfc import SealedWebhookSecrets
from adapters.memory.clock import MovableClock
from adapters.memory.outgoing import MemoryRequests, Sent
from adapters.outgoing.signing import StandardSigner
from application.entities.webhooks.administration import WebhookAdministration
from application.entities.webhooks.deliveries import DeliveryAdministration
from application.entities.webhooks.delivery import Deliverer
from application.entities.webhooks.disabling import Disabling
from application.entities.webhooks.fan_out import FanOut
from application.entities.webhooks.forms import DeliveryItem, NewWebhook, WebhookForm, WebhookItem
from application.entities.webhooks.outcomes import OutcomeWriter
from application.ports.outgoing import OutgoingRequests
from domain.identity.service_accounts import ServiceAccount
from domain.scope import Caller, Client, EveryTenant
from tests.builders import NOW, caller, new_id, role, service_account, tenant
from tests.contracts.entities.changes.conftest import Desk, Ids
from tests.contracts.entities.changes.followed_entities import REGISTRY

CLIENT = Client(address="192.0.2.1", network="192.0.2.1")
KEY = "a secret key of more than 32 characters"


@dataclass
class Hooks:
    """A tenant's administrator of webhooks. ``outcomes`` are those of the deliverer."""

    desk: Desk
    outgoing: OutgoingRequests = field(default_factory=MemoryRequests)
    clock: MovableClock = field(default_factory=lambda: MovableClock(NOW))
    secrets: SealedWebhookSecrets = field(default_factory=lambda: SealedWebhookSecrets(KEY))
    signer: StandardSigner = field(default_factory=StandardSigner)
    outcomes: list[str] = field(default_factory=list)
    accounts: dict[str, ServiceAccount] = field(default_factory=dict)

    @property
    def admin(self) -> Caller:
        now = int(self.clock.now().timestamp())
        tenant_id = self.desk.tenant.id
        return caller(user_id=self.desk.user, tenant_id=tenant_id, permissions=("*",), authenticated_at=now)

    @property
    def sent(self) -> list[Sent]:
        assert isinstance(self.outgoing, MemoryRequests)
        return self.outgoing.sent

    @property
    def administration(self) -> WebhookAdministration:
        return WebhookAdministration(
            database=self.desk.database,
            registry=REGISTRY,
            outgoing=self.outgoing,
            signer=self.signer,
            secrets=self.secrets,
            clock=self.clock,
            ids=Ids(),
            recent=timedelta(minutes=10),
        )

    @property
    def deliveries(self) -> DeliveryAdministration:
        return DeliveryAdministration(
            database=self.desk.database,
            outgoing=self.outgoing,
            signer=self.signer,
            secrets=self.secrets,
            clock=self.clock,
            ids=Ids(),
        )

    @property
    def disabling(self) -> Disabling:
        return Disabling(self.desk.database, self.clock, Ids())

    @property
    def fan_out(self) -> FanOut:
        return FanOut(self.desk.database, REGISTRY, self.disabling, self.clock)

    def deliverer(self) -> Deliverer:
        return Deliverer(
            database=self.desk.database,
            registry=REGISTRY,
            outgoing=self.outgoing,
            signer=self.signer,
            secrets=self.secrets,
            outcomes=OutcomeWriter(self.desk.database, self.disabling, self.clock, self.outcomes.append),
            clock=self.clock,
        )

    async def open(self) -> "Hooks":
        async with self.desk.database.transaction(EveryTenant()) as tx:
            await tx.tenants.add(tenant(id=self.desk.tenant.id, identifier=f"t{self.desk.tenant.id.hex}"))
        return self

    async def account(self, *permissions: str) -> UUID:
        tenant_id = self.desk.tenant.id
        reader = role(tenant_id, permissions=permissions or ("read:*",))
        account = service_account(tenant_id, roles=(reader,))
        async with self.desk.database.transaction(EveryTenant()) as tx:
            await tx.roles.add(reader)
            await tx.service_accounts.add(account)
        self.accounts[str(account.id)] = account
        return account.id

    async def disable_account(self, account_id: UUID) -> None:
        async with self.desk.database.transaction(EveryTenant()) as tx:
            await tx.service_accounts.save(replace(self.accounts[str(account_id)], is_active=False))

    async def make(self, *events: str, account: UUID | None = None, **given: Any) -> NewWebhook:
        form = WebhookForm(
            url=given.pop("url", f"https://{new_id()}.example/hooks"),
            service_account_id=account or await self.account(),
            events=list(events or ("labels.*",)),
            **given,
        )
        return await self.administration.create(self.admin, form, CLIENT)

    async def get(self, webhook: WebhookItem) -> WebhookItem:
        return await self.administration.get(self.admin, webhook.id)

    async def spread(self) -> None:
        """Number the entries, and add their deliveries."""
        await self.desk.sequence()
        while await self.fan_out.fan_out():
            pass

    async def deliver(self) -> None:
        """Add the deliveries of all entries, and send all that are due."""
        await self.spread()
        deliverer = self.deliverer()
        while await deliverer.deliver():
            await deliverer.settle()

    async def listed(self, webhook: WebhookItem, *parameters: tuple[str, str]) -> Sequence[DeliveryItem]:
        return (await self.deliveries.page(self.admin, webhook.id, parameters)).items


def body_of(sent: Sent) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(sent.body)
    return decoded


@pytest.fixture
async def hooks(desk: Desk) -> AsyncIterator[Hooks]:
    opened = await Hooks(desk).open()
    yield opened
    # Deliveries that wait would be sent by later tests on this database.
    for webhook in await opened.administration.all(opened.admin):
        await opened.administration.delete(opened.admin, webhook.id, CLIENT)
