"""A cache with a bound on its total size and an expiry time per entry."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """A cache that drops the least recently stored entries beyond its total size.

    The caller chooses the units of ``size`` and ``until``. Example: ``BoundedCache(most=1_000)`` with sizes in bytes
    holds at most 1,000 bytes.
    """

    def __init__(self, most: int) -> None:
        self._max_size = most
        self._size = 0
        self._values: dict[K, V] = {}
        self._limits: dict[K, tuple[int, float]] = {}
        # Every request looks up values: the dictionary's method saves a call.
        self.get = self._values.get

    def put(self, key: K, value: V, size: int, until: float) -> None:
        """Store the value, unless it is larger than the whole cache."""
        self.drop(key)
        self._values[key], self._limits[key] = value, (size, until)
        self._size += size
        while self._size > self._max_size:
            self.drop(next(iter(self._values)))

    def drop(self, key: K) -> None:
        if key in self._values:
            del self._values[key]
            self._size -= self._limits.pop(key)[0]

    def drop_ended(self, now: float) -> None:
        """Drop the entries with ``until`` not after ``now``."""
        # All entries live about equally long, so stop at the first live entry.
        while self._limits:
            key, (_, until) = next(iter(self._limits.items()))
            if until > now:
                return
            self.drop(key)

    def clear(self) -> None:
        self._values.clear()
        self._limits.clear()
        self._size = 0

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)
