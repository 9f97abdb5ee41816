"""Refresh tokens, sealed by a key that is not in the database."""

import hmac
from uuid import UUID

from adapters.joserfc.sealing import decoded, derived_key, encoded
from domain.identity.tokens import RefreshToken


class SealedRefreshTokens:
    """Refresh tokens as base64url of session id, counter and the HMAC of both.

    Sealing is deterministic: a refresh whose answer was lost can be answered with the same token again.
    """

    _SIGNED = 24  # bytes: 16 of the session's id, 8 of the counter
    _LENGTH = 75  # characters of 24 + 32 bytes

    def __init__(self, secret_key: str) -> None:
        self._key = derived_key(secret_key, "refresh tokens")

    def seal(self, token: RefreshToken) -> str:
        signed = token.session_id.bytes + token.counter.to_bytes(8)
        return encoded(signed + hmac.digest(self._key, signed, "sha256"))

    def open(self, text: str) -> RefreshToken | None:
        if len(text) != self._LENGTH or not text.isascii():
            return None
        try:
            signed = decoded(text)[: self._SIGNED]
            token = RefreshToken(UUID(bytes=signed[:16]), int.from_bytes(signed[16:]))
        except ValueError:
            return None
        # Sealed again and compared whole: base64url has several texts for the same bytes, and one of them is valid.
        return token if hmac.compare_digest(self.seal(token), text) else None
