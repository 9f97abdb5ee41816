"""RedisLastWrites: the position of each session's last write, for all processes."""

from uuid import UUID

from adapters.redis.scripts import LAST_WRITE, NOTE_WRITE
from adapters.redis.shared_pipeline import Away, SharedPipeline
from application.ports.replicas import BEGINNING, Position

KEPT = 60
"""Seconds for which a write is remembered."""
ON_ALL_AFTER = 10
"""Seconds after which every replica that is read from has a write: they are out of the rotation when 5 behind."""
DIGITS = 8, 16
"""Hexadecimal digits of timeline and offset."""


class RedisLastWrites:
    """Positions of the sessions' last writes, for all processes.

    A server that lost its memory, or took over from another, does not know every write. For ``on_all_after`` seconds it
    cannot tell for a session that it does not know; after that, such a session's write is on every replica that is read
    from.
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
