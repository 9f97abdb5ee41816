"""Addresses of Redis, as they are written in the setting.

Connections of the client send what redis-py would send, packed by hiredis.

Two services on one Redis: each has its own limits, revocation and cache, and touches no key of the other.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Connection, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

from adapters.redis.address import RedisAddress, read_address
from adapters.redis.client import redis_client
from adapters.redis.shared_pipeline import Command, SharedPipeline
from application.ports.shared_memory import PresentedToken
from domain.entities.declaration import Registry
from domain.limits import Hit, Limit
from entrypoints.assembly.adapters import Adapters, production_adapters
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import SECRET_KEY
from tests.conftest import NewDatabase
from tests.servers.redis_servers import RedisServer
from tests.waiting import HUNG_AFTER

GOOD = [
    ("redis://h", RedisAddress(kind="server", url="", hosts=(("h", 6379),))),
    ("rediss://u:p@h:6380/2", RedisAddress(kind="server", url="", hosts=(("h", 6380),), tls=True)),
    ("unix:///run/valkey.sock?db=3", RedisAddress(kind="server", url="")),
    (
        "redis+sentinel://h/main",
        RedisAddress(kind="sentinel", url="", hosts=(("h", 26379),), master="main"),
    ),
    (
        "rediss+sentinel://u:p%40@a,b:1,[::1]:2/main%201/3?sentinel_password=s%26&sentinel_user=w",
        RedisAddress(
            kind="sentinel",
            url="",
            hosts=(("a", 26379), ("b", 1), ("::1", 2)),
            tls=True,
            user="u",
            password="p@",
            master="main 1",
            database=3,
            sentinel_user="w",
            sentinel_password="s&",
        ),
    ),
    ("redis+cluster://a,b:7001", RedisAddress(kind="cluster", url="", hosts=(("a", 6379), ("b", 7001)))),
    ("redis+cluster://:p@a/", RedisAddress(kind="cluster", url="", hosts=(("a", 6379),), password="p")),
]
BAD = [
    "h:6379",
    "http://h",
    "redis+sentinel://h",
    "redis+sentinel://h/",
    "redis+sentinel:///main",
    "redis+sentinel://h/main/one",
    "redis+sentinel://h/main?db=1",
    "redis+sentinel://h/main?sentinel_password",
    "redis+sentinel://h:port/main",
    "redis+sentinel://h,,k/main",
    "redis+cluster://",
    "redis+cluster://h/1",
    "redis+cluster://h?db=0",
    "redis+cluster://h:70000",
    "redis+cluster://[::1:1",
]


@pytest.mark.parametrize(("text", "expected"), GOOD, ids=[text for text, _ in GOOD])
def test_an_address_is_read(text: str, expected: RedisAddress) -> None:
    found = read_address(text)
    assert found.url == text
    assert replace(found, url="") == expected


@pytest.mark.parametrize("text", BAD)
def test_an_invalid_redis_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the setting says what it takes
        read_address(text)


COMMANDS: list[Command] = [
    ("PING",),
    ("EVALSHA", "5" * 40, 2, "{tenantry}:limit:me:user:ä", b"\x00\xff", "", 100, 60_000_000, 2**63),
    ("SET", "key", b"x" * 20_000, "EX", 1.5),
    ("CONFIG GET", "maxmemory"),
]


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("redis://127.0.0.1:6379/3", Connection),
        ("rediss://127.0.0.1:6379/3", SSLConnection),
        ("unix:///run/valkey.sock?db=3", UnixDomainSocketConnection),
        ("redis+sentinel://127.0.0.1:26379/main/3", SentinelManagedConnection),
        ("rediss+sentinel://127.0.0.1:26379/main/3", SentinelManagedSSLConnection),
    ],
)
def test_commands_are_the_same_on_every_kind_of_connection(url: str, kind: type) -> None:
    connection = _connection(url)
    assert issubclass(type(connection), kind)
    assert connection.db == 3
    own = Connection()
    for command in COMMANDS:
        assert b"".join(connection.pack_command(*command)) == b"".join(own.pack_command(*command))
    assert b"".join(connection.pack_commands(COMMANDS)) == b"".join(own.pack_commands(COMMANDS))


@pytest.mark.parametrize("url", ["redis://127.0.0.1", "rediss://127.0.0.1", "unix:///run/valkey.sock"])
def test_no_connection_packs_in_python(url: str) -> None:
    connection = _connection(url)
    assert type(connection).pack_command is not Connection.pack_command


def _connection(url: str) -> Any:
    client: Any = redis_client(url)  # redis-py leaves make_connection without types
    return client.connection_pool.make_connection()


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


async def test_services_with_different_prefixes_share_nothing(
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
