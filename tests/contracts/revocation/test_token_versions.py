"""Token versions in the database: each bump raises them by one.

Contract of PendingVersions: bumped versions that the shared copy may not know yet, as PostgreSQL keeps them.

Cache: may forget at any time, but never returns a value that was dropped.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from itertools import count

import pytest
from msgspec import Struct

from adapters.memory.cache import MemoryCache
from adapters.memory.clock import MovableClock
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.operations.pending_versions import PostgresPendingVersions
from adapters.redis.cache import RedisCache
from adapters.redis.client import redis_client
from adapters.redis.shared_pipeline import SharedPipeline
from application.ports.shared_memory import Cache
from application.ports.whole_database import WholeDatabase
from domain.errors import Conflict, ServiceUnavailable
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase
from tests.servers.redis_servers import RedisServer
from tests.waiting import HUNG_AFTER


async def test_what_was_never_bumped_has_the_version_0(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.token_versions.bump(["b", "a", "b"]) == {"a": 1, "b": 1}
        assert await tx.token_versions.bump(["a"]) == {"a": 2}
    async with database.read_only(OneTenant(new_id())) as read:
        assert await read.token_versions.of(["a", "b", "c"]) == {"a": 2, "b": 1, "c": 0}
        assert await read.token_versions.of([]) == {}


async def test_what_has_ended_still_counts(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump(["a"])
        await tx.token_versions.end(["a", "b"], NOW)
        assert await tx.token_versions.of(["a", "b"]) == {"a": 1, "b": 0}
        assert await tx.token_versions.bump(["a"]) == {"a": 2}


async def test_bumps_at_once_all_count_whatever_their_order(database: WholeDatabase) -> None:
    async def bump(subjects: list[str]) -> None:
        async with database.transaction(EveryTenant()) as tx:
            await tx.token_versions.bump(subjects)

    await asyncio.gather(*(bump(["a", "b", "c"][:: (-1) ** n]) for n in range(20)))
    async with database.read_only(EveryTenant()) as read:
        assert await read.token_versions.of(["a", "b", "c"]) == {"a": 20, "b": 20, "c": 20}


async def test_a_raise_that_is_rolled_back_did_not_happen(database: WholeDatabase) -> None:
    try:
        async with database.transaction(EveryTenant()) as tx:
            await tx.token_versions.bump(["a"])
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    async with database.read_only(EveryTenant()) as read:
        assert await read.token_versions.of(["a"]) == {"a": 0}


ONE, OTHER = "user:one", "user:other"


@pytest.fixture
async def outbox(database_url: str, postgres: PostgresDatabase) -> AsyncIterator[PostgresPendingVersions]:
    outbox = PostgresPendingVersions(database_url)
    yield outbox
    await outbox.close()


async def test_a_database_without_tables_is_as_one_that_is_away(empty_database: NewDatabase) -> None:
    outbox = PostgresPendingVersions(await empty_database())
    try:
        with pytest.raises(ServiceUnavailable):
            await outbox.due(0, 9)
    finally:
        await outbox.close()


async def bump(database: PostgresDatabase, *subjects: str) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump(subjects)


async def test_a_bumped_version_is_due_until_it_is_published(
    postgres: PostgresDatabase, outbox: PostgresPendingVersions
) -> None:
    assert await outbox.due(0, 9) == {}
    await bump(postgres, ONE, OTHER)
    assert await outbox.due(0, 9) == {ONE: 1, OTHER: 1}
    await outbox.published({ONE: 1})
    assert await outbox.due(0, 9) == {OTHER: 1}
    await outbox.published({OTHER: 1, "user:unknown": 3})
    assert await outbox.due(0, 9) == {}


async def test_a_version_is_due_once_it_has_aged(postgres: PostgresDatabase, outbox: PostgresPendingVersions) -> None:
    await bump(postgres, ONE)
    assert await outbox.due(60, 9) == {}
    deadline = time.monotonic() + HUNG_AFTER
    while await outbox.due(0.05, 9) != {ONE: 1}:
        assert time.monotonic() < deadline


async def test_a_version_bumped_again_stays_due_since_the_first_time(
    postgres: PostgresDatabase, outbox: PostgresPendingVersions
) -> None:
    """However often it rises, somebody will look."""
    await bump(postgres, ONE)
    deadline = time.monotonic() + HUNG_AFTER
    while await outbox.due(0.2, 9) == {}:
        await bump(postgres, ONE)
        assert time.monotonic() < deadline
    due = await outbox.due(0.2, 9)
    await outbox.published({ONE: due[ONE] - 1})
    assert await outbox.due(0.2, 9) == due


async def test_pending_versions_are_returned_with_the_longest_due_first(
    postgres: PostgresDatabase, outbox: PostgresPendingVersions
) -> None:
    for subject in ("user:b", "user:a", "user:c"):
        await bump(postgres, subject)
    assert await outbox.due(0, 2) == {"user:b": 1, "user:a": 1}


async def test_a_change_that_rolls_back_is_never_due(
    postgres: PostgresDatabase, outbox: PostgresPendingVersions
) -> None:
    with suppress(Conflict):
        async with postgres.transaction(EveryTenant()) as tx:
            await tx.token_versions.bump([ONE])
            raise Conflict
    assert await outbox.due(0, 9) == {}


async def test_what_is_being_bumped_again_is_not_waited_for(
    postgres: PostgresDatabase, outbox: PostgresPendingVersions
) -> None:
    await bump(postgres, ONE)
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump([ONE])
        async with asyncio.timeout(HUNG_AFTER):
            await outbox.published({ONE: 1})
    assert await outbox.due(0, 9) == {ONE: 2}


async def test_pending_versions_without_a_database_are_unavailable() -> None:
    nowhere = PostgresPendingVersions("postgresql://127.0.0.1:1/nothing")
    with pytest.raises(ServiceUnavailable):
        await nowhere.due(0, 9)
    with pytest.raises(ServiceUnavailable):
        await nowhere.published({ONE: 1})


async def test_a_read_cancelled_while_connecting_leaves_no_error_or_connection(database_url: str) -> None:
    """As at the end of a command: the lease is given up at once. Each number of turns is another step of connecting."""
    loop, reported = asyncio.get_running_loop(), list[object]()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    try:
        for turns in range(12):
            outbox = PostgresPendingVersions(database_url)
            looking = asyncio.create_task(outbox.due(0, 9))
            for _ in range(turns):
                await asyncio.sleep(0)
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            await outbox.close()
        gc.collect()
    finally:
        loop.set_exception_handler(None)
    assert reported == []


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
