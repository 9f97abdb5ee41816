"""Refresh tokens, sealed by a key that is not in the database."""

import hmac
from uuid import UUID

from adapters.joserfc.sealing import decoded, derived_key, encoded
from domain.identity.sessions import RefreshToken


class SealedRefreshTokens:
    """Session id, counter and their HMAC; nobody without the secret key makes one, the same input one text."""

    _SAID = 24
    _LENGTH = 75

    def __init__(self, secret_key: str) -> None:
        self._key = derived_key(secret_key, "refresh tokens")

    def seal(self, token: RefreshToken) -> str:
        said = token.session_id.bytes + token.counter.to_bytes(8)
        return encoded(said + hmac.digest(self._key, said, "sha256"))

    def open(self, text: str) -> RefreshToken | None:
        if len(text) != self._LENGTH or not text.isascii():
            return None
        try:
            said = decoded(text)[: self._SAID]
            token = RefreshToken(UUID(bytes=said[:16]), int.from_bytes(said[16:]))
        except ValueError:
            return None
        return token if hmac.compare_digest(self.seal(token), text) else None
