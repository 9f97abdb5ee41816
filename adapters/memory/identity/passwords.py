"""Passwords that cost nothing, for tests and worlds that hold no secrets."""

import hmac
from hashlib import sha256

from domain.identity.users import normal_password


class MemoryPasswords:
    """No protection at all: a plain digest, marked as what it is."""

    _MARK = "memory:"

    async def hash(self, password: str) -> str:
        return self._MARK + sha256(password.encode()).hexdigest()

    async def verify(self, password: str, stored: str | None) -> bool:
        return hmac.compare_digest(await self.hash(normal_password(password)), stored or "")

    def is_outdated(self, stored: str) -> bool:
        return not stored.startswith(self._MARK)
