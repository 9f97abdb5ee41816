"""Cache: may forget at any time, but never returns a value that was dropped."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from itertools import count

import pytest
from msgspec import Struct

from adapters.memory.cache import MemoryCache
from adapters.memory.clock import MovableClock
from adapters.redis.cache import RedisCache
from adapters.redis.client import redis_client
from adapters.redis.shared_pipeline import SharedPipeline
from application.ports.shared_memory import Cache
from tests.redis_server import RedisServer
from tests.waiting import HUNG_AFTER

LONG = timedelta(minutes=30)
SHORT = timedelta(milliseconds=50)


class Kept(Struct):
    """A cache and one with short tombstones (``brief``, SHORT); ``tick`` lets time pass."""

    cache: Cache
    brief: Cache
    tick: Callable[[], Awaitable[None]]

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        deadline = time.monotonic() + HUNG_AFTER
        while not await condition():
            assert time.monotonic() < deadline, "it never came to that"
            await self.tick()


@pytest.fixture(params=["memory", "redis"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield _memory()
        return
    pipeline = SharedPipeline(redis_client(request.getfixturevalue("redis_server").url), patience=HUNG_AFTER)
    yield Kept(RedisCache(pipeline), RedisCache(pipeline, tombstone=SHORT), lambda: asyncio.sleep(0.01))
    await pipeline.close()


def _memory() -> Kept:
    clock = MovableClock()

    async def tick() -> None:
        clock.move(timedelta(milliseconds=10))

    return Kept(MemoryCache(clock), MemoryCache(clock, tombstone=SHORT), tick)


@pytest.fixture
def key() -> str:
    return next(_keys)


_keys = (f"case-{number}" for number in count())


@pytest.mark.parametrize("value", [b"profile", b"", b"=", b"\x00\xff"])
async def test_a_stored_value_is_found(kept: Kept, key: str, value: bytes) -> None:
    await kept.cache.put(key, value, LONG)
    assert await kept.cache.get(key) == value


async def test_a_value_never_stored_is_not_found(kept: Kept, key: str) -> None:
    assert await kept.cache.get(key) is None


async def test_a_later_value_replaces_an_earlier_one(kept: Kept, key: str) -> None:
    await kept.cache.put(key, b"old", LONG)
    await kept.cache.put(key, b"new", LONG)
    assert await kept.cache.get(key) == b"new"


async def test_a_value_ends_with_its_lifetime(kept: Kept, key: str) -> None:
    await kept.cache.put(key, b"profile", SHORT)

    async def is_gone() -> bool:
        return await kept.cache.get(key) is None

    await kept.until(is_gone)


async def test_a_dropped_value_cannot_be_stored_again_at_once(kept: Kept, key: str) -> None:
    other = f"{key}-other"
    for cache_key in (key, other):
        await kept.cache.put(cache_key, b"old", LONG)

    await kept.cache.drop([key, other])
    await kept.cache.put(key, b"old", LONG)

    assert await kept.cache.get(key) is None
    assert await kept.cache.get(other) is None


async def test_a_key_can_be_dropped_before_its_value_is_stored(kept: Kept, key: str) -> None:
    await kept.cache.drop([key])
    await kept.cache.put(key, b"old", LONG)
    assert await kept.cache.get(key) is None


async def test_others_are_not_dropped(kept: Kept, key: str) -> None:
    await kept.cache.put(key, b"profile", LONG)
    await kept.cache.drop([])
    await kept.cache.drop([f"{key}-other"])
    assert await kept.cache.get(key) == b"profile"


async def test_a_new_value_is_stored_once_the_tombstone_has_ended(kept: Kept, key: str) -> None:
    await kept.brief.drop([key])

    async def is_kept() -> bool:
        await kept.brief.put(key, b"new", LONG)
        return await kept.brief.get(key) == b"new"

    await kept.until(is_kept)


async def test_without_redis_nothing_is_known_and_nothing_is_raised(redis_server: RedisServer, key: str) -> None:
    pipeline = SharedPipeline(redis_client(redis_server.url), patience=HUNG_AFTER)
    cache = RedisCache(pipeline)
    await cache.put(key, b"profile", LONG)
    redis_server.kill()
    try:
        assert await cache.get(key) is None
        await cache.put(key, b"profile", LONG)
        await cache.drop([key])
    finally:
        await pipeline.close()
        redis_server.start()
