"""RedisCache: the cache that all processes share; a call is one command, in whatever round trip is next."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from adapters.redis.shared_pipeline import Away, SharedPipeline
from application.ports.shared_memory import TOMBSTONE

VALUE = b"="
"""The first byte of every kept value; a tombstone is empty."""

# In one step: between asking and setting another process may have dropped the key.
PUT = """
if redis.call('GET', KEYS[1]) ~= '' then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
"""


class RedisCache:
    def __init__(self, pipeline: SharedPipeline, *, prefix: str = "tenantry", tombstone: timedelta = TOMBSTONE) -> None:
        self._pipeline = pipeline
        self._prefix = f"{prefix}:cache:"
        self._tombstone = _milliseconds(tombstone)

    async def get(self, key: str) -> bytes | None:
        found = await self._call("GET", self._prefix + key)
        return found.removeprefix(VALUE) if found else None

    async def put(self, key: str, value: bytes, lifetime: timedelta) -> None:
        await self._call("EVAL", PUT, 1, self._prefix + key, VALUE + value, _milliseconds(lifetime))

    async def drop(self, keys: Sequence[str]) -> None:
        calls = [self._call("SET", self._prefix + key, b"", "PX", self._tombstone) for key in keys]
        await asyncio.gather(*calls)

    async def _call(self, *command: str | bytes | int) -> Any:
        """Answer of the command, None while Redis is away or refuses it."""
        try:
            return await self._pipeline.call(command, alone=True)
        except Away:
            return None


def _milliseconds(time: timedelta) -> int:
    """Milliseconds, at least one: Redis refuses to keep anything for no time at all."""
    return max(1, time // timedelta(milliseconds=1))
