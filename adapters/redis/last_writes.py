"""Position of each session's last write, in Redis for all processes."""

from uuid import UUID

from adapters.redis.scripts import LAST_WRITE, NOTE_WRITE
from adapters.redis.shared_pipeline import Away, SharedPipeline
from application.ports.replicas import BEGINNING, Position

KEPT = 60
"""Seconds for which a write is stored."""
ON_ALL_AFTER = 10
"""Seconds until a write is on every replica in use: replicas more than 5 seconds behind leave the rotation."""
DIGITS = 8, 16
"""Hexadecimal digits of timeline and offset."""


class RedisLastWrites:
    """Positions of the sessions' last writes, for all processes.

    After a failover or a loss of memory, a Redis server does not know every write. So for ``on_all_after`` seconds it
    gives no answer for unknown sessions. After that time, every replica in use has the writes of these sessions.
    """

    def __init__(self, pipeline: SharedPipeline, *, prefix: str = "tenantry", on_all_after: int = ON_ALL_AFTER) -> None:
        self._pipeline = pipeline
        self._prefix = f"{{{prefix}}}:written"
        self._on_all_after = on_all_after

    async def of(self, session_id: UUID) -> Position | None:
        keys = (self._prefix, f"{self._prefix}:{session_id}")
        try:
            is_known, position = await self._pipeline.call(
                ("EVALSHA", LAST_WRITE.sha, len(keys), *keys, "", self._on_all_after)
            )
        except Away:
            return None
        if position is not None:
            return _read(position)
        return BEGINNING if is_known else None

    async def note(self, session_id: UUID, position: Position) -> bool:
        key = f"{self._prefix}:{session_id}"
        try:
            await self._pipeline.call(("EVALSHA", NOTE_WRITE.sha, 1, key, _written(position), KEPT))
        except Away:
            return False
        return True


def _written(position: Position) -> str:
    timeline, offset = DIGITS
    return f"{position.timeline:0{timeline}X}{position.offset:0{offset}X}"


def _read(text: bytes) -> Position:
    timeline, _ = DIGITS
    return Position(int(text[:timeline], 16), int(text[timeline:], 16))
