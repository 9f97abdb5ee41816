"""Refusals by servers (wrong password; missing database, master or cluster), and server facts."""

import asyncio
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from msgspec import Struct
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.connection import parse_url
from redis.exceptions import AuthenticationError, RedisError, ResponseError

from adapters.redis.address import RedisAddress, read_address
from adapters.redis.client import node_client, redis_client

ANSWERS_WITHIN = 5.0
"""Seconds before a server that accepts a connection but does not answer counts as unavailable."""


class RedisRefusal(Enum):
    NO_PASSWORD = auto()
    WRONG_PASSWORD = auto()
    NO_DATABASE = auto()
    NO_MASTER = auto()
    NO_CLUSTER = auto()
    IN_A_CLUSTER = auto()
    REPLICA = auto()
    NO_SENTINEL = auto()


class RedisRefuses(Exception):
    """A Redis server refused this service, because of a wrong password or a missing feature.

    ``reason`` is the server's message, or the missing feature.
    """

    def __init__(self, refusal: RedisRefusal, reason: str) -> None:
        super().__init__(reason)
        self.refusal = refusal
        self.reason = reason


async def ensure_accepted(url: str) -> None:
    """Raise RedisRefuses if the server refuses its clients, not if it is unavailable or refuses single commands."""
    address = read_address(url)
    if address.kind == "server":
        await _ask(_of_one_server, _single(url), address)
        return
    for host in address.hosts:
        about = _of_sentinel if address.kind == "sentinel" else _of_node
        if await _ask(about, node_client(address, host), address):
            break  # all servers of the group know the same
    if address.kind == "sentinel":
        await _ask(_of_one_server, _single(url), address)


def _single(url: str) -> Redis:
    client = redis_client(url)
    assert isinstance(client, Redis)
    return client


async def _ask(about: Any, client: Redis, address: RedisAddress) -> bool:
    """Whether the server answers. Raises RedisRefuses."""
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            await about(client, address)
    except AuthenticationError as error:
        # redis-py has one error class for a missing and for a wrong password, and removes the error code from the text.
        is_missing = str(error).startswith("Authentication required")
        kind = RedisRefusal.NO_PASSWORD if is_missing else RedisRefusal.WRONG_PASSWORD
        raise RedisRefuses(kind, str(error).rstrip(".")) from None
    except ResponseError as error:
        if "out of range" in str(error):
            number = address.database if address.kind == "sentinel" else parse_url(address.url).get("db")
            raise RedisRefuses(RedisRefusal.NO_DATABASE, str(number)) from None
    except (RedisError, OSError):
        return False
    finally:
        await client.aclose()
    return True


async def _of_one_server(client: Redis, address: RedisAddress) -> None:
    await client.ping()
    # Only check a single server: a master named by sentinels may not know its role yet.
    if address.kind == "server" and await _is_replica(client):
        raise RedisRefuses(RedisRefusal.REPLICA, "")
    # Accept a cluster of one node, because that node answers for every key.
    if await _is_in_cluster(client) and await _nodes_with_slots(client) > 1:
        raise RedisRefuses(RedisRefusal.IN_A_CLUSTER, "")


async def _of_node(client: Redis, address: RedisAddress) -> None:
    await client.ping()
    if not await _is_in_cluster(client):
        raise RedisRefuses(RedisRefusal.NO_CLUSTER, ", ".join(host for host, _ in address.hosts))


async def _is_replica(client: Redis) -> bool:
    facts: dict[str, Any] = await client.info("replication")
    return facts.get("role") == "slave" and bool(facts.get("slave_read_only"))


async def _is_in_cluster(client: Redis) -> bool:
    facts: dict[str, Any] = await client.info("cluster")
    return bool(facts.get("cluster_enabled"))


async def _nodes_with_slots(client: Redis) -> int:
    asked: Any = client  # redis-py leaves execute_command without types
    facts: dict[str, str] = await asked.execute_command("CLUSTER INFO")
    return int(facts["cluster_size"])


async def _of_sentinel(client: Redis, address: RedisAddress) -> None:
    try:
        names = [str(name) for name in await client.sentinel_masters()]
    except ResponseError as error:
        if "unknown command" not in str(error).lower():
            raise
        raise RedisRefuses(RedisRefusal.NO_SENTINEL, ", ".join(host for host, _ in address.hosts)) from None
    if address.master not in names:
        raise RedisRefuses(RedisRefusal.NO_MASTER, f"{address.master}; there are: {', '.join(sorted(names)) or 'none'}")


class RedisFacts(Struct, frozen=True):
    """Facts of a Redis server, or of one master of a cluster, for operators.

    ``eviction`` is the policy for full memory. For a cluster, it is the policy of the first master with a policy that
    drops keys, or else of any master.
    """

    eviction: str


async def redis_facts(url: str) -> RedisFacts | None:
    """Return facts of the server; None if it is unavailable or does not answer INFO."""
    client = redis_client(url)
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            if isinstance(client, RedisCluster):
                asked: dict[str, Any] = await client.info(target_nodes=RedisCluster.PRIMARIES)
                found = [_facts(info) for info in asked.values()]
            else:
                found = [_facts(await client.info())]
    except (RedisError, OSError):
        return None
    finally:
        await client.aclose()
    return next((facts for facts in found if facts.eviction != "noeviction"), found[0])


def _facts(info: Mapping[str, Any]) -> RedisFacts:
    return RedisFacts(str(info["maxmemory_policy"]))
