"""The cache of one process."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from application.ports.runtime import Clock
from application.ports.shared_memory import TOMBSTONE

SWEEP_AT = 1_000


class MemoryCache:
    """A dictionary with expiry times; an entry without a value is a tombstone."""

    def __init__(self, clock: Clock, *, tombstone: timedelta = TOMBSTONE) -> None:
        self._clock = clock
        self._tombstone = tombstone
        self._entries: dict[str, tuple[bytes | None, datetime]] = {}
        self._sweep_at = SWEEP_AT

    async def get(self, key: str) -> bytes | None:
        value, _ = self._living(key) or (None, None)
        return value

    async def put(self, key: str, value: bytes, lifetime: timedelta) -> None:
        living = self._living(key)
        # A tombstone: the value may be older than the change that dropped the key.
        if living is not None and living[0] is None:
            return
        self._sweep()
        self._entries[key] = (value, self._clock.now() + lifetime)

    async def drop(self, keys: Sequence[str]) -> None:
        until = self._clock.now() + self._tombstone
        self._entries.update(dict.fromkeys(keys, (None, until)))

    def _living(self, key: str) -> tuple[bytes | None, datetime] | None:
        entry = self._entries.get(key)
        return entry if entry is not None and self._clock.now() < entry[1] else None

    def _sweep(self) -> None:
        # Sweep whenever the cache has doubled: constant cost per entry.
        if len(self._entries) < self._sweep_at:
            return
        now = self._clock.now()
        self._entries = {key: entry for key, entry in self._entries.items() if now < entry[1]}
        self._sweep_at = max(SWEEP_AT, 2 * len(self._entries))
