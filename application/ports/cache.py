"""The cache that all processes share."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

TOMBSTONE = timedelta(seconds=10)
"""Longer than any reader holds a value that it read before a change."""


class Cache(Protocol):
    """Shared by all processes, and never an error: with the memory behind it away nothing is known, and nothing kept.

    A value that could not be dropped is the reader's to tell: it says itself what it was built from.
    """

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, value: bytes, lifetime: timedelta) -> None:
        """Replaces what was kept, and does nothing within TOMBSTONE of a ``drop``."""
        ...

    async def drop(self, keys: Sequence[str]) -> None:
        """Forgets, and keeps readers from before the change from putting the old value back."""
        ...
