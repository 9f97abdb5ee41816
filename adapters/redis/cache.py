"""RedisCache: the cache shared by all processes; a call is one command in the next round trip."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from adapters.redis.shared_pipeline import Away, SharedPipeline
from application.ports.shared_memory import TOMBSTONE

VALUE = b"="
"""First byte of each stored value; a tombstone is empty."""

# Atomic: another process may drop the key between reading and writing.
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
        """Call Redis; return None if Redis is unavailable or refuses the command."""
        try:
            return await self._pipeline.call(command, alone=True)
        except Away:
            return None


def _milliseconds(time: timedelta) -> int:
    """Return at least one millisecond: Redis refuses an expiry of zero."""
    return max(1, time // timedelta(milliseconds=1))
