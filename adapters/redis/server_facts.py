"""Facts that an operator should know of a Redis or Valkey server, or of the servers of a cluster."""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from redis.asyncio import RedisCluster
from redis.exceptions import RedisError

from adapters.redis.client import redis_client

ANSWERS_WITHIN = 5.0
"""Seconds."""


class RedisFacts(Struct, frozen=True):
    """Facts of a Redis server, or of one master of a cluster, that an operator should know.

    ``eviction`` is the policy for full memory; of a cluster that of the first master that drops keys, or of any.
    """

    eviction: str


async def redis_facts(url: str) -> RedisFacts | None:
    """Facts of the server, None for one that is away or does not answer INFO."""
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
