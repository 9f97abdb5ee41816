"""Connections of the client send what redis-py would send, packed by hiredis."""

from typing import Any

import pytest
from redis.asyncio import Connection, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

from adapters.redis.client import redis_client
from adapters.redis.shared_pipeline import Command

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
