"""A delivery of a webhook that was found at a given time."""

from datetime import datetime

from application.ports.whole_database import Transaction
from domain.entities.webhooks.deliveries import Delivery
from domain.entities.webhooks.webhooks import Webhook
from tests.builders import NOW, new_id, service_account, tenant


async def store_delivery(tx: Transaction, at: datetime) -> None:
    home = tenant()
    account = service_account(home.id)
    webhook = Webhook(
        id=new_id(),
        tenant_id=home.id,
        service_account_id=account.id,
        url="https://example.com",
        host="example.com",
        description="",
        events=("labels.*",),
        content="full",
        signature="v1",
        order_by="row",
        is_active=True,
        sealed="",
        position=0,
        shared_position=0,
        created_at=NOW,
        created_by=None,
    )
    delivery = Delivery(
        tenant_id=home.id,
        webhook_id=webhook.id,
        id=new_id(),
        is_shared=False,
        position=1,
        entity="labels",
        row_id=new_id(),
        event="labels.created",
        created_at=at,
        due_at=at,
    )
    await tx.tenants.add(home)
    await tx.service_accounts.add(account)
    await tx.webhooks.add(webhook)
    await tx.deliveries.add([delivery])
