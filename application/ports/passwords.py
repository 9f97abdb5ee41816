"""Hashing of passwords, and reading them from a request body."""

from typing import Protocol


class Passwords(Protocol):
    """Hashing runs off the event loop, as many at a time as there are cores, behind a bounded queue.

    Raises TooBusy when the queue is full: then nothing was computed.
    """

    async def hash(self, password: str) -> str: ...

    async def verify(self, password: str, stored: str | None) -> bool:
        """False for None and for what is no hash, after the time that a real one takes.

        Takes the password as it was typed: our own hashes are of its NFKC, imported ones of what was typed.
        """
        ...

    def is_outdated(self, stored: str) -> bool:
        """Whether a stored hash is weaker than what ``hash`` makes now."""
        ...
