"""Deliveries to receivers that hang, and by several deliverers at once."""

import asyncio
import os
from datetime import timedelta
from ipaddress import ip_network

import pytest

from adapters.memory.outgoing import MemoryRequests, Sent
from adapters.outgoing.client import CheckedRequests, TimeLimits
from application.entities.webhooks.delivery import CONCURRENT
from application.ports.outgoing import Reply
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.webhooks.conftest import CLIENT, Hooks, body_of
from tests.servers.receiver import receiver
from tests.waiting import HUNG_AFTER

LIMITS = TimeLimits(connect=HUNG_AFTER, total=HUNG_AFTER)
MANY, AT_ONCE = 10_000 if "TENANTRY_TEST_LONG" in os.environ else 1_000, 1_000


@pytest.mark.promise("webhooks, deliveries: 10,000 deliveries that wait for a dead receiver delay no other tenant")
async def test_a_receiver_that_hangs_delays_no_other_tenant(hooks: Hooks) -> None:
    hooks.outgoing = CheckedRequests((ip_network("127.0.0.0/8"),), LIMITS)
    other = await Hooks(Desk(hooks.desk.database), hooks.outgoing).open()
    async with receiver() as dead, receiver() as alive:
        dead.mood = "hangs"
        webhook = await other.make("labels.*", url=alive.url)
        own = await hooks.make("labels.*", url=dead.url)
        for _ in range(MANY // AT_ONCE):
            await hooks.desk.add_all("labels", *({"name": f"{number}"} for number in range(AT_ONCE)))
        await other.desk.add_all("labels", *({"name": f"{number}"} for number in range(50)))
        await hooks.spread()
        deliverer = hooks.deliverer()
        async with asyncio.timeout(HUNG_AFTER):
            while len(alive.arrived) < 50:
                await deliverer.deliver()
        assert len(dead.arrived) <= CONCURRENT
        await deliverer.stop()
    await hooks.outgoing.close()
    assert (await hooks.get(own)).health.waiting == MANY
    await other.administration.delete(other.admin, webhook.id, CLIENT)


@pytest.mark.promise("webhooks, deliveries: with several deliverers, each event arrives once, in the order of its row")
async def test_several_deliverers_send_each_event_once(hooks: Hooks) -> None:
    await hooks.make("labels.*")
    assert isinstance(hooks.outgoing, MemoryRequests)
    tried: set[str] = set()

    def answer(sent: Sent) -> Reply:
        """Refuse each fifth event at its first try."""
        message = sent.headers["webhook-id"]
        is_first = message not in tried
        tried.add(message)
        return Reply(503 if is_first and len(tried) % 5 == 0 else 200, None)

    rows = await hooks.desk.add_all("labels", *({"name": f"{number}"} for number in range(5)))
    for number in range(3):
        for row in rows:
            await hooks.desk.change("labels", row, name=f"version {number}")
    await hooks.spread()
    hooks.outgoing.answer = answer
    several = [hooks.deliverer() for _ in range(3)]
    async with asyncio.timeout(HUNG_AFTER):
        while hooks.outcomes.count("delivered") < 20:
            await asyncio.gather(*(each.deliver() for each in several))
            await asyncio.gather(*(each.settle() for each in several))
            hooks.clock.move(timedelta(seconds=6))
    versions = {str(row): [number for found, number in map(version, hooks.sent) if found == str(row)] for row in rows}
    for found in versions.values():
        assert sorted(set(found)) == [1, 2, 3, 4]
        assert found == sorted(found)
    assert len(hooks.sent) == 20 + hooks.outcomes.count("failed")


def version(sent: Sent) -> tuple[str, int]:
    data = body_of(sent)["data"]
    return data["id"], data["version"]
