"""Caller of a request, read from the Authorization header."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from application.ports.identity.sessions import Tokens
from domain.bounded_cache import BoundedCache
from domain.errors import TokenInvalid, Unauthorized
from domain.identity.service_accounts import looks_like_key
from domain.identity.tokens import Claims, caller_of
from domain.scope import Caller

SINGLE = frozenset(
    {b"authorization", b"host", b"content-length", b"content-type", b"idempotency-key", b"x-app-id", b"x-tenant-scope"}
)
"""Headers that decide what a request does, of which only one may be there."""
REMEMBERED = 16_384
"""Tokens whose callers are kept, less than 1 kB each: permissions and roles are the claims' own."""


@dataclass(frozen=True)
class Security:
    """Remembers what verified claims came to, so that a token's next request does not build its caller again."""

    tokens: Tokens
    _callers: BoundedCache[UUID, tuple[Claims, Caller]] = field(
        default_factory=lambda: BoundedCache(REMEMBERED), repr=False
    )

    def caller(self, authorization: bytes | None, now: datetime) -> Caller:
        """Raises Unauthorized without a token, TokenInvalid or TokenExpired with a wrong one."""
        claims = self.tokens.read(bearer_token(authorization), now)
        known = self._callers.get(claims.jti)
        if known is not None and known[0] is claims:
            return known[1]
        return self._remember(claims, now)

    def _remember(self, claims: Claims, now: datetime) -> Caller:
        caller = caller_of(claims)
        self._callers.drop_ended(now.timestamp())
        self._callers.put(claims.jti, (claims, caller), 1, claims.exp)
        return caller


def bearer_key(authorization: bytes | None) -> str | None:
    """The API key of the header, None where it holds anything else; the form is not checked yet."""
    if not authorization or b"_" not in authorization[:32] or b"." in authorization:
        return None
    text = bearer_token(authorization)
    return text if looks_like_key(text) else None


def bearer_token(authorization: bytes | None) -> str:
    if not authorization:
        raise Unauthorized
    scheme, _, token = authorization.partition(b" ")
    if scheme.lower() != b"bearer":
        raise Unauthorized("Send the access token as a Bearer token.")
    try:
        text = token.strip().decode("ascii")
    except UnicodeDecodeError:
        raise TokenInvalid from None
    if not text:
        raise TokenInvalid
    return text


def repeated_header(headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """The first of the headers in SINGLE that stands there more than once."""
    seen: set[bytes] = set()
    for name, _ in headers:
        if name in seen:
            return name
        if name in SINGLE:
            seen.add(name)
    return None
