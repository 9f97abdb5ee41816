"""Secrets of authenticator apps, encrypted for the database as JWEs that name their user."""

from uuid import UUID

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from adapters.joserfc.sealing import derived_keys


class SealedFactorSecrets:
    """Secrets of authenticator apps, sealed with the first secret. The service also opens those sealed with the
    ``other`` secret.
    """

    def __init__(self, secret_key: str, other: str | None = None) -> None:
        self._keys = [OctKey.import_key(key) for key in derived_keys(secret_key, other, "authenticator apps")]

    def seal(self, user_id: UUID, secret: bytes) -> str:
        return jwe.encrypt_compact({"alg": "dir", "enc": "A256GCM", "kid": str(user_id)}, secret, self._keys[0])

    def open(self, user_id: UUID, sealed: str) -> bytes | None:
        for key in self._keys:
            try:
                opened = jwe.decrypt_compact(sealed, key)
            except (JoseError, ValueError):
                continue
            # Security: compare the user, so that a row copied to another account does not open there.
            return opened.plaintext if opened.headers().get("kid") == str(user_id) else None
        return None
