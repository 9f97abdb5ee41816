"""A cache with a bound on the total size of its entries and an end for each of them."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """A cache that drops the least recently stored entries first, once their sizes together exceed its bound.

    The caller chooses the units of ``size`` and ``until``. Example: ``BoundedCache(most=1_000)`` with sizes in bytes
    holds at most 1,000 bytes.
    """

    def __init__(self, most: int) -> None:
        self._max_size = most
        self._size = 0
        self._values: dict[K, V] = {}
        self._limits: dict[K, tuple[int, float]] = {}
        # Lookups are on the path of every request: the dictionary's own method saves a call
        self.get = self._values.get

    def put(self, key: K, value: V, size: int, until: float) -> None:
        """Stores the value; an entry larger than the whole cache is not stored."""
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
        """Drops the entries whose ``until`` is not after ``now``."""
        # Entries live about equally long, so the oldest ends first and the scan stops at the first living one.
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
