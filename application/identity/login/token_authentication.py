"""Authentication by access token, with cached callers of verified tokens."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from application.ports.identity.sessions import Tokens
from domain.bounded_cache import BoundedCache
from domain.identity.tokens import Claims, caller_of
from domain.scope import Caller

REMEMBERED = 16_384
"""Maximum tokens with cached callers, less than 1 kB each: permissions and roles are shared with the claims."""


@dataclass(frozen=True)
class TokenAuthentication:
    """Authentication that caches the caller of a verified token for later requests with the same token."""

    tokens: Tokens
    _callers: BoundedCache[UUID, tuple[Claims, Caller]] = field(
        default_factory=lambda: BoundedCache(REMEMBERED), repr=False
    )

    def caller(self, token: str, now: datetime) -> Caller:
        """Return the caller. Raises TokenInvalid or TokenExpired."""
        claims = self.tokens.read(token, now)
        known = self._callers.get(claims.jti)
        if known is not None and known[0] is claims:
            return known[1]
        caller = caller_of(claims)
        self._callers.drop_ended(now.timestamp())
        self._callers.put(claims.jti, (claims, caller), 1, claims.exp)
        return caller
