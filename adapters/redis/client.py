"""Redis-py clients for a server, a master behind sentinels, or a cluster; connections use hiredis to pack commands."""

from typing import Any, cast

from hiredis import pack_command
from redis.asyncio import (
    Connection,
    ConnectionPool,
    Redis,
    RedisCluster,
    Sentinel,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import (
    SentinelConnectionPool,
    SentinelManagedConnection,
    SentinelManagedSSLConnection,
)
from redis.backoff import NoBackoff

from adapters.redis.address import RedisAddress, read_address

OPENED_WITHIN = 1.0
"""Time limit in seconds for a new connection after an outage, perhaps with TLS."""

SENTINEL_WITHIN = 0.3
"""Seconds per sentinel, so that time remains to ask the next one."""

AnyRedis = Redis | RedisCluster


class _Packed:
    # redis-py uses hiredis only on synchronous connections. The packer of redis-py needs four times as long: an eighth
    # of the CPU time of a request without database access.
    def pack_command(self, *words: Any) -> list[bytes]:
        if " " in words[0]:  # Redis expects a two-word command name as separate words
            words = (*words[0].split(), *words[1:])
        return [pack_command(words)]


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


class PackedMasterConnection(_Packed, SentinelManagedConnection):
    """A connection to the master behind sentinels."""


class PackedMasterTlsConnection(_Packed, SentinelManagedSSLConnection):
    """A TLS connection to the master behind sentinels."""


class Master(Redis):
    """Client of the master behind sentinels; closing the client also closes the connections to the sentinels.

    Each new connection asks the sentinels for the master.
    """

    sentinels: Sentinel

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await super().aclose(close_connection_pool)
        for client in self.sentinels.sentinels:
            await client.aclose()


class Cluster(RedisCluster):
    """Client of a cluster that also closes the connections of a failed attempt."""

    async def aclose(self) -> None:
        await super().aclose()
        await self.nodes_manager.aclose()
        await self.nodes_manager.aclose("startup_nodes")


def redis_client(url: str) -> AnyRedis:
    """Return a client with one connection to each server, opened on first use, without retries.

    The caller handles outages. Raises ValueError for an unknown form of address.
    """
    address = read_address(url)
    if address.kind == "cluster":
        return _cluster(address)
    return _server(url) if address.kind == "server" else _master(address)


def node_client(address: RedisAddress, host: tuple[str, int]) -> Redis:
    """Return a client of one sentinel or cluster node."""
    is_sentinel = address.kind == "sentinel"
    return Redis(
        host=host[0],
        port=host[1],
        username=address.sentinel_user if is_sentinel else address.user,
        password=address.sentinel_password if is_sentinel else address.password,
        ssl=address.tls,
        **_common(),
    )


def _server(url: str) -> Redis:
    options: dict[str, Any] = {"max_connections": 1, **_common(), **parse_url(url)}
    options["connection_class"] = _PACKED.get(options.get("connection_class"), PackedConnection)
    return Redis.from_pool(ConnectionPool(**options))


def _master(address: RedisAddress) -> Redis:
    asked = {
        **_common(),
        "socket_timeout": SENTINEL_WITHIN,
        "socket_connect_timeout": SENTINEL_WITHIN,
        "username": address.sentinel_user,
        "password": address.sentinel_password,
        "ssl": address.tls,
    }
    sentinel = Sentinel(address.hosts, sentinel_kwargs=asked)  # type: ignore[no-untyped-call]
    pool: Any = SentinelConnectionPool(  # type: ignore[no-untyped-call]
        address.master,
        sentinel,
        connection_class=PackedMasterTlsConnection if address.tls else PackedMasterConnection,
        max_connections=1,
        db=address.database,
        username=address.user,
        password=address.password,
        **_common(),
    )
    client = cast(Master, Master.from_pool(pool))
    client.sentinels = sentinel
    return client


def _cluster(address: RedisAddress) -> RedisCluster:
    return Cluster(
        startup_nodes=[ClusterNode(*host) for host in address.hosts],
        username=address.user,
        password=address.password,
        ssl=address.tls,
        # If a node is unavailable, the breaker opens. The client that opens after the pause reads the slots again.
        **_common(),
    )


def _common() -> dict[str, Any]:
    return {
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        # The round trip has a timeout; a timer per answer costs more than the answer.
        "socket_timeout": None,
        "socket_connect_timeout": OPENED_WITHIN,
    }
