"""The Authorization header, and headers that may occur only once."""

from collections.abc import Sequence

from domain.errors import TokenInvalid, Unauthorized
from domain.identity.service_accounts import looks_like_key

SINGLE = frozenset(
    name.encode()
    for name in (
        *("authorization", "host", "content-length", "transfer-encoding", "content-type"),
        *("idempotency-key", "x-app-id", "x-tenant-scope"),
    )
)
"""Headers that determine the effect of a request. Each may occur only once."""


def bearer_key(authorization: bytes | None) -> str | None:
    """Return the API key in the header, without checking it; None if the header has no API key."""
    if not authorization or b"_" not in authorization[:32] or b"." in authorization:
        return None
    text = bearer_token(authorization)
    return text if looks_like_key(text) else None


def bearer_token(authorization: bytes | None) -> str:
    """Return the token. Raises Unauthorized without one, TokenInvalid for other content."""
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
    """Return the first header in SINGLE that occurs more than once."""
    given = [name for name, _ in headers if name in SINGLE]
    return next((name for name in given if given.count(name) > 1), None)
