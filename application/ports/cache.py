"""The cache shared by all processes."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

# Longer than a reader takes between reading the database and storing the value, so no old value comes back.
TOMBSTONE = timedelta(seconds=10)
"""Time after a ``drop`` in which nothing is stored under the key."""


class Cache(Protocol):
    """Values shared by all processes; no method raises.

    While its memory is away, ``get`` finds nothing and ``put`` stores nothing. A ``drop`` may fail unnoticed, so a
    value should contain the versions that it was built from.
    """

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, value: bytes, lifetime: timedelta) -> None:
        """Stores the value; does nothing within TOMBSTONE of a ``drop`` of the key."""
        ...

    async def drop(self, keys: Sequence[str]) -> None:
        """Removes the values, and keeps readers from storing an older value again."""
        ...
