"""`Signer` by Standard Webhooks 1.0: HMAC-SHA256 (``v1``) and Ed25519 (``v1a``)."""

import hmac
import secrets
from base64 import b64encode

from domain.entities.webhooks.signatures import PUBLIC_PREFIX, SECRET_PREFIX, SignatureScheme

SECRET_BYTES = 32
"""Length of a secret: the key of HMAC, or the seed of an Ed25519 key."""


class StandardSigner:
    def new_secret(self) -> bytes:
        return secrets.token_bytes(SECRET_BYTES)

    def shown(self, scheme: SignatureScheme, secret: bytes) -> str:
        if scheme == "v1":
            return SECRET_PREFIX + b64encode(secret).decode()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        public = Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
        return PUBLIC_PREFIX + b64encode(public).decode()

    def signature(self, scheme: SignatureScheme, secret: bytes, text: bytes) -> str:
        if scheme == "v1":
            return "v1," + b64encode(hmac.digest(secret, text, "sha256")).decode()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return "v1a," + b64encode(Ed25519PrivateKey.from_private_bytes(secret).sign(text)).decode()
