"""Encrypted passwords: JWEs from login forms, and their encryption keys."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateNumbers, RSAPublicNumbers
from joserfc import jwe
from joserfc.jwk import ECKey, RSAKey
from msgspec import Raw, Struct

from adapters.joserfc.sealing import NOT_OPENED, Jwk, Sealing, decoded, public_text
from application.ports.identity.passwords import OpenedPassword
from domain.identity.signing_keys import OPENS_PASSWORDS, OVERLAP, Purpose, SigningKey, living_keys, signing_key

H = TypeVar("H", bound=Struct)

LONGEST = 2048
PARTS = 5  # of a compact JWE: header, encrypted key, initialisation vector, ciphertext, tag

_ENCRYPTION = "A256GCM"
_REGISTRY = jwe.JWERegistry(algorithms=[*OPENS_PASSWORDS, _ENCRYPTION])


class _Form(Struct, frozen=True):
    """JOSE header of any JWE."""

    alg: str
    enc: str


class _Header(_Form, frozen=True):
    """JOSE header of a decryptable JWE; ``zip`` must be absent."""

    kid: str | None = None
    zip: str | None = None


class _Payload(Struct, frozen=True):
    password: str
    iat: int | float
    jti: str


class JoserfcEncryptedPasswords:
    def __init__(self, secret_key: str, other: str | None = None) -> None:
        self._sealing = Sealing(secret_key, "password keys", other)
        self._keys: tuple[SigningKey, ...] = ()
        self._opened: dict[str, RSAKey | ECKey] = {}

    def use(self, keys: Sequence[SigningKey]) -> None:
        """Load the keys for encrypted passwords. Raises WrongSecretKey."""
        mine = tuple(key for key in keys if key.purpose in OPENS_PASSWORDS)
        if mine != self._keys:
            self._opened = {key.kid: self._open(key) for key in mine}
            self._keys = mine

    def make_key(self, purpose: Purpose, active_from: datetime) -> SigningKey:
        pair = RSAKey.generate_key(2048) if purpose.startswith("RSA") else ECKey.generate_key("P-256")
        kid = pair.thumbprint()
        public = public_text(pair, {"kid": kid, "use": "enc", "alg": purpose})
        sealed = self._sealing.seal(pair, kid)
        return SigningKey(kid=kid, public=public, sealed=sealed, active_from=active_from, purpose=purpose)

    def resealed(self, key: SigningKey) -> SigningKey:
        return self._sealing.resealed(key)

    def public_keys(self, now: datetime) -> list[Raw]:
        """Return the public JWKs for encryption, one for each algorithm."""
        by_purpose = [[key for key in self._keys if key.purpose == purpose] for purpose in OPENS_PASSWORDS]
        # Only the active key: some processes may not have a coming key yet.
        return [Raw(signing_key(keys, now).public.encode()) for keys in by_purpose if keys]

    def is_encrypted(self, text: str) -> bool:
        return text.count(".") == PARTS - 1 and _header(text, _Form) is not None

    def open(self, text: str, now: datetime) -> OpenedPassword | None:
        header = _header(text, _Header) if len(text) <= LONGEST and text.isascii() else None
        if header is None or text.count(".") != PARTS - 1 or header.zip is not None:
            return None  # `zip`: a small text could inflate to any size
        opened = (_decrypted(text, self._opened[key.kid]) for key in self._living(header, now))
        plaintext = next((found for found in opened if found is not None), None)
        return None if plaintext is None else _read(plaintext)

    def _living(self, header: _Header, now: datetime) -> list[SigningKey]:
        """Return the candidate keys, newest first; without ``kid``, all keys of the algorithm."""
        same_purpose = [key for key in self._keys if key.purpose == header.alg]
        return [key for key in reversed(living_keys(same_purpose, now, OVERLAP)) if header.kid in (None, key.kid)]

    def _open(self, key: SigningKey) -> RSAKey | ECKey:
        if key.kid in self._opened and key in self._keys:
            return self._opened[key.kid]
        jwk = self._sealing.open(key)
        return _rsa_key(jwk) if jwk["kty"] == "RSA" else ECKey.import_key(jwk)


def _rsa_key(jwk: Jwk) -> RSAKey:
    """Load the key without proving that its factors are primes, because the proof costs more than the rest of the
    start.

    The seal proves that ``make_key`` made the key.
    """
    n, e, d, p, q, dp, dq, qi = (int.from_bytes(decoded(str(jwk[name]))) for name in "n e d p q dp dq qi".split())
    numbers = RSAPrivateNumbers(p, q, d, dp, dq, qi, RSAPublicNumbers(e, n))
    return RSAKey.import_key(numbers.private_key(unsafe_skip_rsa_key_validation=True))


def _header(text: str, kind: type[H]) -> H | None:
    try:
        return msgspec.json.decode(decoded(text.partition(".")[0]), type=kind)
    # Deeply nested headers exceed the recursion limit.
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _decrypted(text: str, key: RSAKey | ECKey) -> bytes | None:
    try:
        return jwe.decrypt_compact(text, key, registry=_REGISTRY).plaintext
    except NOT_OPENED:
        return None


def _read(plaintext: bytes) -> OpenedPassword | None:
    try:
        payload = msgspec.json.decode(plaintext, type=_Payload)
        sealed_at = float(payload.iat)
    # An integer of 400 digits overflows a float.
    except (ValueError, RecursionError, OverflowError, msgspec.MsgspecError):
        return None
    is_usable = payload.jti and "\x00" not in payload.password
    return OpenedPassword(payload.password, sealed_at, payload.jti) if is_usable else None
