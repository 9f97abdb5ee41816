"""Wakes: signals to all processes that a tenant's log has new entries."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.memory.wakes import MemoryWakes
from adapters.redis.client import redis_client
from adapters.redis.entities.wakes import RedisWakes
from adapters.redis.shared_pipeline import SharedPipeline
from application.entities.changes.arrivals import Arrivals
from application.ports.shared_memory import Wakes
from tests.builders import new_id
from tests.servers.redis_servers import RedisServer
from tests.waiting import HUNG_AFTER

LONG = 300.0
"""Seconds: these tests receive each signal before a look without one is due."""


@pytest.fixture
async def on_redis(redis_server: RedisServer) -> AsyncIterator[tuple[Wakes, Wakes]]:
    pipeline = SharedPipeline(redis_client(redis_server.url), patience=HUNG_AFTER)
    prefix = f"wakes-{new_id()}"
    pair = [RedisWakes(pipeline, lambda: redis_client(redis_server.url), prefix=prefix, every=LONG) for _ in range(2)]
    yield pair[0], pair[1]
    for wakes in pair:
        await wakes.close()
    await pipeline.close()


@pytest.fixture(params=["memory", "redis"])
def wakes(request: pytest.FixtureRequest) -> tuple[Wakes, Wakes]:
    """A sender and a receiver."""
    if request.param == "memory":
        only = MemoryWakes(LONG)
        return only, only
    pair: tuple[Wakes, Wakes] = request.getfixturevalue("on_redis")
    return pair


async def test_a_signal_names_its_tenants(wakes: tuple[Wakes, Wakes]) -> None:
    sender, receiver = wakes
    tenant_id = new_id()
    async with asyncio.timeout(HUNG_AFTER):
        receiving = asyncio.create_task(receiver.next())
        # The first signals may precede the subscription.
        while not receiving.done() or receiving.result() is None:
            receiving = asyncio.create_task(receiver.next()) if receiving.done() else receiving
            await sender.publish([tenant_id, None])
            await asyncio.sleep(0)
        assert receiving.result() == {tenant_id, None}
    await receiver.close()


async def test_without_redis_a_receiver_looks_at_intervals() -> None:
    nobody = "redis://127.0.0.1:1"
    pipeline = SharedPipeline(redis_client(nobody))
    wakes = RedisWakes(pipeline, lambda: redis_client(nobody), every=LONG)
    await wakes.publish([new_id()])
    began = asyncio.get_running_loop().time()
    assert await wakes.next() is None
    assert asyncio.get_running_loop().time() - began >= 1.0
    await wakes.close()
    await pipeline.close()


async def test_a_signal_wakes_the_readers_of_its_tenants_only() -> None:
    wakes = MemoryWakes(LONG)
    arrivals = Arrivals(wakes)
    concerned, other = new_id(), new_id()
    with arrivals.of(concerned) as event, arrivals.of(other) as others:
        await wakes.publish([concerned])
        await asyncio.wait_for(event.wait(), HUNG_AFTER)
        assert not others.is_set()
        await wakes.publish([None])
        await asyncio.wait_for(others.wait(), HUNG_AFTER)
    await arrivals.close()
