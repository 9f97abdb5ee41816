"""Webhooks and deliveries in the database: of one tenant, with leases that no two processes share."""

from datetime import timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from application.ports.entities.webhooks import OVERDUE_AFTER, ClaimSize, DeliveryListing, WebhookClaim
from domain.entities.webhooks.deliveries import Attempt, Delivery, DeliveryOutcome
from domain.entities.webhooks.webhooks import Replay, Webhook
from domain.scope import EveryTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.changes.webhooks.conftest import Hooks

LEASE = timedelta(minutes=1)
SIZE = ClaimSize(lanes=8, failing_lanes=4, deliveries=10)


async def stored(hooks: Hooks, **given: object) -> Webhook:
    """A webhook of the tenant, on a separate host."""
    host = f"{new_id()}.example"
    webhook = Webhook(
        id=new_id(),
        tenant_id=hooks.desk.tenant.id,
        service_account_id=await hooks.account(),
        url=f"https://{host}",
        host=host,
        description="",
        events=("labels.*",),
        content="full",
        signature="v1",
        order_by="row",
        is_active=True,
        sealed="sealed",
        position=0,
        shared_position=1_000_000,
        created_at=NOW,
        created_by=None,
    )
    webhook = replace(webhook, **given)
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        await tx.webhooks.add(webhook)
    return webhook


def deliveries(webhook: Webhook, count: int, row_id: UUID | None = None, first: int = 1) -> list[Delivery]:
    return [
        Delivery(
            tenant_id=webhook.tenant_id,
            webhook_id=webhook.id,
            id=new_id(),
            is_shared=False,
            position=position,
            entity="labels",
            row_id=row_id or new_id(),
            event="labels.created",
            created_at=NOW,
            due_at=NOW,
        )
        for position in range(first, first + count)
    ]


async def add(hooks: Hooks, *each: Delivery) -> None:
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        await tx.deliveries.add(each)


async def claim(hooks: Hooks, size: ClaimSize = SIZE, after: timedelta = timedelta()) -> dict[UUID, list[int]]:
    """Positions of the claimed deliveries of the tenant by webhook."""
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        found: list[WebhookClaim] = await tx.deliveries.claim(NOW + after, LEASE, size)
    own = [each for each in found if each.webhook.tenant_id == hooks.desk.tenant.id]
    return {each.webhook.id: sorted(claimed.delivery.position for claimed in each.claimed) for each in own}


async def test_a_webhook_is_stored_and_removed(hooks: Hooks) -> None:
    first = await stored(hooks)
    second = await stored(hooks, created_at=NOW + timedelta(seconds=1), sealed_before="old", before_until=NOW)
    stranger = new_id()
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        tenant_id = hooks.desk.tenant.id
        assert [each.webhook for each in await tx.webhooks.all(tenant_id)] == [first, second]
        assert await tx.webhooks.count(tenant_id) == 2
        assert await tx.webhooks.all(stranger) == []
        assert await tx.webhooks.count(stranger) == 0
        assert await tx.webhooks.get(stranger, first.id) is None
        assert await tx.webhooks.lock(stranger, first.id, waits=True) is None
        assert not await tx.webhooks.remove(stranger, first.id)
        changed = replace(first, url="https://b.example", events=("cards.*",), replay=Replay(1, 2, 3, 4), position=9)
        await tx.webhooks.save(changed)
        assert await tx.webhooks.lock(tenant_id, first.id, waits=False) == changed
        assert await tx.webhooks.remove(tenant_id, second.id)
        assert await tx.webhooks.get(tenant_id, second.id) is None


async def test_a_webhook_behind_the_log_is_found(hooks: Hooks) -> None:
    webhook, idle = await stored(hooks), await stored(hooks, is_active=False)
    replayed = await stored(hooks, position=5, replay=None)
    await hooks.desk.add("labels")
    await hooks.desk.sequence()
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        await tx.webhooks.save(replace(replayed, replay=Replay(0, 1, 0, 0)))
        behind = await tx.webhooks_of_all_tenants.behind(1_000)
    assert {found for tenant_id, found in behind if tenant_id == hooks.desk.tenant.id} == {webhook.id, replayed.id}
    assert idle.id not in {found for _, found in behind}


async def test_deliveries_are_of_their_webhook(hooks: Hooks) -> None:
    webhook, other = await stored(hooks), await stored(hooks)
    own = deliveries(webhook, 3)
    await add(hooks, *own)
    await add(hooks, *deliveries(other, 1))
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        listing = DeliveryListing(tenant_id=webhook.tenant_id, webhook_id=webhook.id, page=1, page_size=2)
        assert await tx.deliveries.page(listing) == ([own[2], own[1]], 3)
        assert await tx.deliveries.page(replace(listing, tenant_id=new_id())) == ([], 0)
        assert await tx.deliveries.page(replace(listing, states=("given-up",))) == ([], 0)
        assert not await tx.deliveries.retry(new_id(), webhook.id, own[0].id, NOW)
        assert not await tx.deliveries.retry(webhook.tenant_id, other.id, own[0].id, NOW)
        assert await tx.deliveries.retry(webhook.tenant_id, webhook.id, own[0].id, NOW)
        listed = await tx.webhooks.get(webhook.tenant_id, webhook.id)
        assert listed is not None
        assert listed.waiting == 3


@pytest.mark.promise("webhooks, deliveries: several processes share the work by leases, and none sends twice")
async def test_a_lane_is_leased_once(hooks: Hooks) -> None:
    webhook, other = await stored(hooks), await stored(hooks)
    same_host = await stored(hooks, host=webhook.host)
    own = deliveries(webhook, 2)
    await add(hooks, *own)
    await add(hooks, *deliveries(other, 1))
    assert await claim(hooks) == {webhook.id: [1, 2], other.id: [1]}
    await add(hooks, *deliveries(webhook, 1, first=3))
    await add(hooks, *deliveries(same_host, 1))
    assert await claim(hooks) == {}
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        await tx.deliveries.release(own)
    assert await claim(hooks) == {webhook.id: [1, 2, 3], same_host.id: [1]}
    assert await claim(hooks, after=LEASE) == {webhook.id: [1, 2, 3], same_host.id: [1], other.id: [1]}


async def test_a_claim_has_a_size(hooks: Hooks) -> None:
    webhook, failing = await stored(hooks), await stored(hooks, failing_since=NOW)
    for each in (webhook, failing):
        await add(hooks, *deliveries(each, 3))
    small = ClaimSize(lanes=1_000, failing_lanes=0, deliveries=2)
    assert await claim(hooks, small) == {webhook.id: [1, 2]}
    assert await claim(hooks, replace(small, failing_lanes=1_000)) == {failing.id: [1]}


@pytest.mark.parametrize("order", ["row", "none"])
async def test_the_first_event_of_a_row_is_claimed_first(hooks: Hooks, order: str) -> None:
    webhook = await stored(hooks, order_by=order)
    row, waiting = new_id(), deliveries(webhook, 1)[0]
    await add(hooks, replace(waiting, row_id=row, due_at=NOW + LEASE), *deliveries(webhook, 2, row, first=2))
    await add(hooks, *deliveries(webhook, 1, first=9))
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        outcome = DeliveryOutcome(
            delivery=waiting, attempt=Attempt(error="x", was_sent=False), state="waiting", due_at=NOW + LEASE
        )
        assert await tx.deliveries.finish([outcome], NOW) == []
    assert await claim(hooks) == {webhook.id: [9] if order == "row" else [2, 3, 9]}


async def test_outcomes_set_the_health(hooks: Hooks) -> None:
    webhook = await stored(hooks)
    first, second = deliveries(webhook, 2)
    await add(hooks, first, second)
    failed = DeliveryOutcome(delivery=first, attempt=Attempt(status=500), state="waiting", due_at=NOW + LEASE)
    done = DeliveryOutcome(delivery=second, attempt=Attempt(status=200), state="delivered", due_at=NOW)
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        (failing,) = await tx.deliveries.finish([failed], NOW)
        assert (failing.tenant_id, failing.webhook_id, failing.since) == (webhook.tenant_id, webhook.id, NOW)
        (failing,) = await tx.deliveries.finish([failed], NOW + LEASE)
        assert failing.since == NOW
        assert await tx.deliveries.finish([done], NOW + LEASE) == []
        listed = await tx.webhooks.get(webhook.tenant_id, webhook.id)
        assert listed is not None
        assert (listed.webhook.last_status, listed.webhook.last_success_at) == (200, NOW + LEASE)
        page = await tx.deliveries.page(
            DeliveryListing(tenant_id=webhook.tenant_id, webhook_id=webhook.id, page=1, page_size=9)
        )
        assert [(each.state, each.tries) for each in page[0]] == [("delivered", 1), ("waiting", 2)]


async def test_places_of_the_log_are_found_by_time(hooks: Hooks) -> None:
    await hooks.desk.add("labels")
    await hooks.desk.sequence()
    async with hooks.desk.database.transaction(hooks.desk.tenant) as tx:
        assert (await tx.deliveries.places_at(NOW)).own == 0
        assert (await tx.deliveries.places_at(NOW + LEASE)).own == 1


async def test_the_backlog_counts_what_needs_somebody(hooks: Hooks) -> None:
    async with hooks.desk.database.read_only(EveryTenant()) as read:
        before = await read.deliveries.backlog(NOW + OVERDUE_AFTER)
    webhook = await stored(hooks)
    await stored(hooks, failing_since=NOW)
    await stored(hooks, is_active=False, disabled_at=NOW)
    await add(hooks, *deliveries(webhook, 2))
    (lost,) = deliveries(webhook, 1, first=3)
    await add(hooks, lost)
    given_up = DeliveryOutcome(delivery=lost, attempt=Attempt(was_sent=False), state="given-up", due_at=NOW)
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        await tx.deliveries.finish([given_up], NOW)
    async with hooks.desk.database.read_only(EveryTenant()) as read:
        after = await read.deliveries.backlog(NOW + OVERDUE_AFTER)
        assert (await read.deliveries.backlog(NOW)).overdue == before.overdue
    changes = (after.failing - before.failing, after.disabled - before.disabled, after.overdue - before.overdue)
    assert changes == (1, 1, 2)
    assert (after.waiting - before.waiting, after.given_up - before.given_up) == (2, 1)
