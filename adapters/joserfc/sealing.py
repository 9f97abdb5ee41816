"""Keys of their own for every purpose, all from the one secret; and private keys sealed with them for the database."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping

import msgspec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from domain.identity.signing_keys import SigningKey

Jwk = dict[str, str | list[str]]


class WrongSecretKey(Exception):
    """The keys in the database were sealed with another secret."""

    def __init__(self) -> None:
        super().__init__(
            "TENANTRY_SECRET_KEY is not the one that the stored signing keys were sealed with: "
            "set it to what it was, the same on all replicas."
        )


class Sealing:
    """Seals private keys; what was sealed for one purpose no other opens."""

    def __init__(self, secret_key: str, purpose: str) -> None:
        self._key = OctKey.import_key(derived_key(secret_key, purpose))

    def seal(self, pair: OKPKey | ECKey | RSAKey, kid: str) -> str:
        private = msgspec.json.encode(pair.as_dict(private=True))
        return jwe.encrypt_compact({"alg": "dir", "enc": "A256GCM", "kid": kid}, private, self._key)

    def open(self, key: SigningKey) -> Jwk:
        """Raises WrongSecretKey, for a seal that was moved to another key's id as well."""
        try:
            opened = jwe.decrypt_compact(key.sealed, self._key)
        except (JoseError, ValueError):
            raise WrongSecretKey from None
        if opened.headers().get("kid") != key.kid or opened.plaintext is None:
            raise WrongSecretKey
        return msgspec.json.decode(opened.plaintext, type=Jwk)


def public_text(pair: OKPKey | ECKey | RSAKey, more: Mapping[str, str]) -> str:
    """The public half as JSON, saying what it is for."""
    return msgspec.json.encode({**pair.as_dict(private=False), **more}).decode()


def derived_key(secret_key: str, purpose: str) -> bytes:
    """A key for this purpose alone, so that what one seals no other opens."""
    return HKDF(SHA256(), length=32, salt=None, info=f"tenantry {purpose}".encode()).derive(secret_key.encode())


def decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
