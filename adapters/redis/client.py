"""The client of redis-py, whose connections pack commands by hiredis."""

from typing import Any

from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.connection import HiredisRespSerializer

OPENED_WITHIN = 1.0
"""Seconds for the attempt to reach a server that was away: a connection is opened, perhaps with TLS."""

_HIREDIS = HiredisRespSerializer()


class _Packed:
    # redis-py packs by hiredis on its synchronous connections alone; its own way takes four times as long, which was
    # an eighth of the CPU of a request that asks no database.
    def pack_command(self, *words: Any) -> list[bytes]:
        packed: list[bytes] = _HIREDIS.pack(*words)
        return packed


class PackedConnection(_Packed, Connection):
    """A connection over TCP."""


class PackedTlsConnection(_Packed, SSLConnection):
    """A connection over TLS."""


class PackedUnixConnection(_Packed, UnixDomainSocketConnection):
    """A connection to a Unix socket."""


_PACKED: dict[Any, type[Connection | UnixDomainSocketConnection]] = {
    SSLConnection: PackedTlsConnection,
    UnixDomainSocketConnection: PackedUnixConnection,
}


def redis_client(url: str) -> Redis:
    """A client of one connection, opened on first use, without retries: the caller knows what an outage means."""
    options: dict[str, Any] = {
        "max_connections": 1,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        # No timeout for each read: the round trip has one, and a timer for each answer costs more than the answer.
        "socket_timeout": None,
        "socket_connect_timeout": OPENED_WITHIN,
        **parse_url(url),
    }
    options["connection_class"] = _PACKED.get(options.get("connection_class"), PackedConnection)
    return Redis.from_pool(ConnectionPool(**options))
