"""Refresh tokens, sealed with a key outside the database."""

import hmac
from uuid import UUID

from adapters.joserfc.sealing import decoded, derived_keys, encoded
from domain.identity.tokens import RefreshToken


class SealedRefreshTokens:
    """Refresh tokens: base64url of the session id, a counter and the HMAC of both.

    Sealing is deterministic: if a client repeats a refresh after a lost answer, it gets the same token. Tokens sealed
    with the ``other`` secret are accepted too.
    """

    _SIGNED = 24  # bytes: 16 of the session's id, 8 of the counter
    _LENGTH = 75  # characters of 24 + 32 bytes

    def __init__(self, secret_key: str, other: str | None = None) -> None:
        self._keys = derived_keys(secret_key, other, "refresh tokens")

    def seal(self, token: RefreshToken) -> str:
        return self._sealed(token, self._keys[0])

    def _sealed(self, token: RefreshToken, key: bytes) -> str:
        signed = token.session_id.bytes + token.counter.to_bytes(8)
        return encoded(signed + hmac.digest(key, signed, "sha256"))

    def open(self, text: str) -> RefreshToken | None:
        if len(text) != self._LENGTH or not text.isascii():
            return None
        try:
            signed = decoded(text)[: self._SIGNED]
            token = RefreshToken(UUID(bytes=signed[:16]), int.from_bytes(signed[16:]))
        except ValueError:
            return None
        # Seal the content again and compare the whole tokens: base64url has several texts for the same bytes, and only
        # one is valid.
        sealed = (self._sealed(token, key) for key in self._keys)
        return token if any(hmac.compare_digest(valid, text) for valid in sealed) else None
