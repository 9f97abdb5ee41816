"""Two services on one Redis: each has its own limits, revocation and cache, and touches no key of the other."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.redis.client import redis_client
from adapters.redis.shared_pipeline import SharedPipeline
from application.ports.shared_memory import PresentedToken
from domain.entities.declaration import Registry
from domain.limits import Hit, Limit
from entrypoints.assembly.adapters import Adapters, production_adapters
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import SECRET_KEY
from tests.conftest import NewDatabase
from tests.redis_server import RedisServer
from tests.waiting import HUNG_AFTER

HIT = Hit(Limit("login", 2), "address:192.0.2.1")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
async def worlds(
    server: RedisServer, new_database: NewDatabase, registry: Registry
) -> AsyncIterator[tuple[Adapters, Adapters, Adapters]]:
    """Two of one service, and one of another."""
    async with AsyncExitStack() as stack:
        opened = []
        urls = [await new_database(), await new_database()]
        for url, prefix in ((urls[0], "shop"), (urls[0], "shop"), (urls[1], "shop.test")):
            environment = {
                "DATABASE_URL": url,
                "REDIS_URL": server.url,
                "SECRET_KEY": SECRET_KEY,
                "REDIS_PREFIX": prefix,
            }
            settings = read_settings({f"TENANTRY_{name}": value for name, value in environment.items()})
            opened.append(production_adapters(settings, registry))
            await stack.enter_async_context(opened[-1].life())
        yield opened[0], opened[1], opened[2]


async def test_services_with_prefixes_of_their_own_share_nothing(
    server: RedisServer, worlds: tuple[Adapters, Adapters, Adapters]
) -> None:
    first, same, other = worlds
    await first.admissions.admit([HIT], None)
    await first.cache.put("profile:a", b"mine", timedelta(minutes=1))
    async with first.revocations.publishing(["user:a"]) as versions:
        versions["user:a"] = 1
    remaining = [(await adapters.admissions.admit([HIT], None)).verdicts[0].remaining for adapters in (same, other)]
    assert remaining == [0, 1]
    assert [await adapters.cache.get("profile:a") for adapters in (same, other)] == [b"mine", None]
    known = [
        (await adapters.admissions.admit((), PresentedToken({"user:a": 1}, ()))).token_versions
        for adapters in (same, other)
    ]
    assert known[1] is None
    pipeline = SharedPipeline(redis_client(server.url), patience=HUNG_AFTER)
    keys = await pipeline.call(("KEYS", "*"))
    await pipeline.close()
    assert {key.decode().split(":")[0] for key in keys} == {"{shop}", "shop", "{shop.test}"}
