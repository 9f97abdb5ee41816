"""Derivation of one key per purpose from the service's secret, and encryption of private keys for the database."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping

import msgspec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey
from msgspec.structs import replace

from domain.identity.signing_keys import SigningKey

Jwk = dict[str, str | list[str]]


class WrongSecretKey(Exception):
    """Refusal of stored keys that were sealed with another secret."""

    def __init__(self) -> None:
        super().__init__(
            "TENANTRY_SECRET_KEY is not the one that the stored signing keys were sealed with: "
            "set it to what it was, the same on all replicas, or name that one in TENANTRY_OTHER_SECRET_KEY. "
            "Where it was never set, the key is the file secret.key in TENANTRY_DATA_DIR: put that file back."
        )


class Sealing:
    """Seals and opens private keys of one purpose. It does not open keys of another purpose.

    It also opens keys sealed with the ``other`` secret, and seals only with the first secret.
    """

    def __init__(self, secret_key: str, purpose: str, other: str | None = None) -> None:
        self._keys = [OctKey.import_key(key) for key in derived_keys(secret_key, other, purpose)]

    def seal(self, pair: OKPKey | ECKey | RSAKey, kid: str) -> str:
        return self._sealed(msgspec.json.encode(pair.as_dict(private=True)), kid)

    def open(self, key: SigningKey) -> Jwk:
        """Return the key's private JWK. Raises WrongSecretKey, also if the sealed key has another key's id."""
        return msgspec.json.decode(self._plaintext(key), type=Jwk)

    def resealed(self, key: SigningKey) -> SigningKey:
        """Return the key sealed with the first secret. Raises WrongSecretKey."""
        return replace(key, sealed=self._sealed(self._plaintext(key), key.kid))

    def _sealed(self, private: bytes, kid: str) -> str:
        return jwe.encrypt_compact({"alg": "dir", "enc": "A256GCM", "kid": kid}, private, self._keys[0])

    def _plaintext(self, key: SigningKey) -> bytes:
        for secret in self._keys:
            try:
                opened = jwe.decrypt_compact(key.sealed, secret)
            except (JoseError, ValueError):
                continue
            if opened.headers().get("kid") == key.kid and opened.plaintext is not None:
                return opened.plaintext
        raise WrongSecretKey


def public_text(pair: OKPKey | ECKey | RSAKey, more: Mapping[str, str]) -> str:
    """Return the public JWK as JSON, with members such as ``use`` and ``alg``."""
    return msgspec.json.encode({**pair.as_dict(private=False), **more}).decode()


def derived_key(secret_key: str, purpose: str) -> bytes:
    """Derive a 32-byte key for this purpose only, by HKDF."""
    # No salt: every replica must derive the same key from the secret.
    return HKDF(SHA256(), length=32, salt=None, info=f"tenantry {purpose}".encode()).derive(secret_key.encode())


def derived_keys(secret_key: str, other: str | None, purpose: str) -> list[bytes]:
    """Return the two keys of this purpose: the sealing key, and the accepted key of the other secret."""
    return [derived_key(secret, purpose) for secret in (secret_key, other) if secret is not None]


NOT_OPENED = (
    JoseError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
    msgspec.MsgspecError,
)
"""Exceptions that joserfc raises for untrusted text, because it reads header members before it checks their types."""


def decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
