"""What an operator should know of a Redis or Valkey server."""

import asyncio

from msgspec import Struct
from redis.exceptions import RedisError

from adapters.redis.client import redis_client

ANSWERS_WITHIN = 5.0
"""Seconds."""


class RedisFacts(Struct, frozen=True):
    """``eviction`` is the policy for full memory; ``memory_limit`` is in bytes, 0 for none."""

    version: str
    eviction: str
    memory_limit: int


async def redis_facts(url: str) -> RedisFacts | None:
    """None for a server that is away, or that does not answer INFO."""
    client = redis_client(url)
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            found = await client.info()
    except (RedisError, OSError):
        return None
    finally:
        await client.aclose()
    return RedisFacts(str(found["redis_version"]), str(found["maxmemory_policy"]), int(found["maxmemory"]))
