"""Password hashes that cost nothing, for tests."""

import hmac
from dataclasses import dataclass
from hashlib import sha256

from domain.identity.users import normal_password


class MemoryPasswords:
    """A plain digest, which protects nothing and says so in its prefix."""

    _MARK = "memory:"

    async def hash(self, password: str) -> str:
        return self._MARK + sha256(password.encode()).hexdigest()

    async def verify(self, password: str, stored: str | None) -> bool:
        return hmac.compare_digest(await self.hash(normal_password(password)), stored or "")

    def is_outdated(self, stored: str) -> bool:
        return not stored.startswith(self._MARK)


@dataclass(frozen=True)
class MemoryBreaches:
    """Breach service that knows the passwords it is given."""

    passwords: frozenset[str]

    async def is_breached(self, password: str) -> bool:
        return password in self.passwords
