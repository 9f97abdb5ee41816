"""Signals of the log of changes through Redis' channels; a process has one subscription while readers wait."""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Any
from uuid import UUID

from adapters.redis.client import OPENED_WITHIN, AnyRedis
from adapters.redis.shared_pipeline import Away, SharedPipeline

log = logging.getLogger(__name__)

LOOKED_EVERY = 5.0
"""Seconds after which readers look without a signal: the sender may have had no connection."""
LOOKED_WITHOUT_EVERY = 1.0
"""Seconds between two looks without Redis."""
SHARED = b"shared"
"""Word for the rows that all tenants share."""

# A script, so that a cluster finds a node by the key, and every node passes the message on.
_PUBLISH = "return redis.call('PUBLISH', KEYS[1], ARGV[1])"


class RedisWakes:
    def __init__(
        self,
        pipeline: SharedPipeline,
        connect: Callable[[], AnyRedis],
        *,
        prefix: str = "tenantry",
        every: float = LOOKED_EVERY,
    ) -> None:
        """``connect`` returns a new client, which only subscribes. ``every`` is in seconds."""
        self._pipeline = pipeline
        self._connect = connect
        self._channel = f"{prefix}:changes"
        self._every = every
        self._client: AnyRedis | None = None
        self._subscription: Any = None

    async def publish(self, tenants: Collection[UUID | None]) -> None:
        words = [SHARED if tenant is None else tenant.hex.encode() for tenant in tenants]
        try:
            await self._pipeline.call(("EVAL", _PUBLISH, 1, self._channel, b",".join(words)), alone=True)
        except Away:
            return

    async def next(self) -> Collection[UUID | None] | None:
        try:
            subscription = await self._subscribed()
            message = await subscription.get_message(ignore_subscribe_messages=True, timeout=self._every)
        except Exception as failure:  # noqa: BLE001  # redis-py raises errors of several kinds, and readers poll
            log.debug("Signals of changes cannot be received: %s", type(failure).__name__)
            await self.close()
            await asyncio.sleep(LOOKED_WITHOUT_EVERY)
            return None
        return None if message is None else _tenants_in(message["data"])

    async def close(self) -> None:
        client, subscription = self._client, self._subscription
        self._client = self._subscription = None
        for opened in (subscription, client):
            if opened is not None:
                try:
                    await opened.aclose()
                except Exception:  # the connection is broken already
                    log.debug("The subscription to Redis could not be closed.", exc_info=True)

    async def _subscribed(self) -> Any:
        if self._subscription is None:
            self._client = self._connect()
            self._subscription = self._client.pubsub()
            async with asyncio.timeout(OPENED_WITHIN):
                await self._subscription.subscribe(self._channel)
        return self._subscription


def _tenants_in(data: bytes) -> Collection[UUID | None] | None:
    try:
        return {None if word == SHARED else UUID(hex=word.decode()) for word in data.split(b",")}
    except ValueError:
        # Another version of the service may send other words.
        return None
