"""Secrets of webhooks after a change of the service's secret key."""

from msgspec.structs import replace

from adapters.joserfc import SealedWebhookSecrets
from application.entities.webhooks.resealing import WebhookResealing
from domain.scope import EveryTenant
from tests.contracts.entities.changes.webhooks.conftest import KEY, Hooks
from tests.contracts.entities.changes.webhooks.test_ports import stored

NEW = "another secret key of more than 32 characters"


async def test_resealed_secrets_open_with_the_new_secret_key(hooks: Hooks) -> None:
    rotated = await stored(hooks)
    current, former = (bytes([n]) * 32 for n in range(2))
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        sealed, before = (hooks.secrets.seal(rotated.id, secret) for secret in (current, former))
        await tx.webhooks.save(replace(rotated, sealed=sealed, sealed_before=before))
    lost = await stored(hooks)
    assert await WebhookResealing(hooks.desk.database, SealedWebhookSecrets(NEW, KEY)).reseal() == 1
    only_new = SealedWebhookSecrets(NEW)
    async with hooks.desk.database.read_only(EveryTenant()) as read:
        found = await read.webhooks.get(rotated.tenant_id, rotated.id)
        assert found is not None
        assert only_new.open(rotated.id, found.webhook.sealed) == current
        assert only_new.open(rotated.id, found.webhook.sealed_before or "") == former
        unchanged = await read.webhooks.get(lost.tenant_id, lost.id)
        assert unchanged is not None
        assert unchanged.webhook.sealed == lost.sealed


async def test_webhooks_of_all_tenants_are_read_in_the_order_of_ids(hooks: Hooks) -> None:
    made = sorted([(await stored(hooks)).id for _ in range(3)])
    async with hooks.desk.database.read_only(EveryTenant()) as read:
        first = await read.webhooks_of_all_tenants.after(None, 2)
        assert [each.id for each in first] == made[:2]
        assert [each.id for each in await read.webhooks_of_all_tenants.after(first[-1].id, 2)] == made[2:]
