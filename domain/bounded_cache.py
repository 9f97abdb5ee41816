"""A memory of what was worked out before, bounded by how much it holds and by how long that stays true."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """``size`` and ``until`` are of the caller's choice of units; the oldest goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._values: dict[K, V] = {}
        self._facts: dict[K, tuple[int, float]] = {}
        self.get = self._values.get

    def put(self, key: K, value: V, size: int, until: float) -> None:
        """One larger than all that may be held is not kept."""
        self.drop(key)
        self._values[key], self._facts[key] = value, (size, until)
        self._held += size
        while self._held > self._most:
            self.drop(next(iter(self._values)))

    def drop(self, key: K) -> None:
        if key in self._values:
            del self._values[key]
            self._held -= self._facts.pop(key)[0]

    def drop_ended(self, now: float) -> None:
        """Those at the front whose time is over: as all live about as long, the oldest end first."""
        while self._facts:
            key, (_, until) = next(iter(self._facts.items()))
            if until > now:
                return
            self.drop(key)

    def clear(self) -> None:
        self._values.clear()
        self._facts.clear()
        self._held = 0

    def __len__(self) -> int:
        return len(self._values)
