"""Secrets encrypted for the database as JWEs that name their owner."""

from uuid import UUID

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from adapters.joserfc.sealing import derived_keys


class SealedOwnedSecrets:
    """Secrets of one purpose, sealed with the first secret key. The service also opens those sealed with ``other``."""

    def __init__(self, secret_key: str, other: str | None, purpose: str) -> None:
        self._keys = [OctKey.import_key(key) for key in derived_keys(secret_key, other, purpose)]

    def seal(self, owner_id: UUID, secret: bytes) -> str:
        return jwe.encrypt_compact({"alg": "dir", "enc": "A256GCM", "kid": str(owner_id)}, secret, self._keys[0])

    def open(self, owner_id: UUID, sealed: str) -> bytes | None:
        for key in self._keys:
            try:
                opened = jwe.decrypt_compact(sealed, key)
            except (JoseError, ValueError):
                continue
            # Security: compare the owner, so that a row copied to another owner does not open there.
            return opened.plaintext if opened.headers().get("kid") == str(owner_id) else None
        return None
