"""Cheap password hashes, for tests."""

import hmac
from dataclasses import dataclass
from hashlib import sha256

from domain.identity.users import normal_password


class MemoryPasswords:
    """A password hash as a plain digest. Its prefix marks it as unprotected."""

    _MARK = "memory:"

    async def hash(self, password: str) -> str:
        return self._MARK + sha256(password.encode()).hexdigest()

    async def verify(self, password: str, stored: str | None) -> bool:
        return hmac.compare_digest(await self.hash(normal_password(password)), stored or "")

    def is_outdated(self, stored: str) -> bool:
        return not stored.startswith(self._MARK)


@dataclass(frozen=True)
class MemoryBreaches:
    """Breach service with a given set of passwords."""

    passwords: frozenset[str]

    async def is_breached(self, password: str) -> bool:
        return password in self.passwords
