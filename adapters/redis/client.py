"""Clients of redis-py for a server, the master that sentinels name, or a cluster; connections pack by hiredis."""

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
"""Seconds for the attempt to reach a server that was away: a connection is opened, perhaps with TLS."""

SENTINEL_WITHIN = 0.3
"""Seconds for each sentinel: one that hangs leaves time to ask the next."""

AnyRedis = Redis | RedisCluster


class _Packed:
    # redis-py packs by hiredis on its synchronous connections alone; its own way takes four times as long, which was
    # an eighth of the CPU of a request that asks no database.
    def pack_command(self, *words: Any) -> list[bytes]:
        if " " in words[0]:  # a name of two words, which stand apart in the protocol
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
    """A connection to the master that the sentinels name."""


class PackedMasterTlsConnection(_Packed, SentinelManagedSSLConnection):
    """A connection over TLS to the master that the sentinels name."""


class Master(Redis):
    """Client of the master that the sentinels name when a connection is opened; closed together with theirs."""

    sentinels: Sentinel

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await super().aclose(close_connection_pool)
        for client in self.sentinels.sentinels:
            await client.aclose()


class Cluster(RedisCluster):
    """Client of a cluster, which closes the connections of an attempt that failed half way as well."""

    async def aclose(self) -> None:
        await super().aclose()
        await self.nodes_manager.aclose()
        await self.nodes_manager.aclose("startup_nodes")


def redis_client(url: str) -> AnyRedis:
    """A client of one connection to each server, opened on first use, without retries.

    The caller knows what an outage means. Raises ValueError for an address of no known form.
    """
    address = read_address(url)
    if address.kind == "cluster":
        return _cluster(address)
    return _server(url) if address.kind == "server" else _master(address)


def node_client(address: RedisAddress, host: tuple[str, int]) -> Redis:
    """A client of one sentinel, or of one node of a cluster."""
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
        # A node that is away opens the breaker, and the slots are asked for anew when the client is opened again.
        **_common(),
    )


def _common() -> dict[str, Any]:
    return {
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        # No timeout for each read: the round trip has one, and a timer for each answer costs more than the answer.
        "socket_timeout": None,
        "socket_connect_timeout": OPENED_WITHIN,
    }
