"""Secrets of authenticator apps, encrypted for the database as JWEs that name their user."""

from uuid import UUID

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from adapters.joserfc.sealing import derived_key


class SealedFactorSecrets:
    def __init__(self, secret_key: str) -> None:
        self._key = OctKey.import_key(derived_key(secret_key, "authenticator apps"))

    def seal(self, user_id: UUID, secret: bytes) -> str:
        return jwe.encrypt_compact({"alg": "dir", "enc": "A256GCM", "kid": str(user_id)}, secret, self._key)

    def open(self, user_id: UUID, sealed: str) -> bytes | None:
        try:
            opened = jwe.decrypt_compact(sealed, self._key)
        except (JoseError, ValueError):
            return None
        # Security: a row that was copied to another account must not open there.
        return opened.plaintext if opened.headers().get("kid") == str(user_id) else None
