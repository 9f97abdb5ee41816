"""Hashing schemes of other systems: verification, and its estimated cost."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

import bcrypt
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import Argon2Error, InvalidHashError

KIBIBYTE, MEBIBYTE = 1024, 1024 * 1024
BCRYPT_READS = 72
"""Number of bytes of a password that bcrypt reads. Bcrypt ignores the rest, and newer library versions refuse longer
passwords.
"""

PBKDF2_SECONDS = {"sha1": 1.7e-7, "sha256": 1.8e-7, "sha512": 3.7e-7}
BCRYPT_SECONDS, SCRYPT_SECONDS, ARGON2_SECONDS = 4.7e-5, 2.8e-7, 7e-7
"""Seconds per unit of each scheme on an ordinary core of 2025. The unit is a round of PBKDF2 or bcrypt, a block of
scrypt, or one KiB in one pass of Argon2.
"""

_VERIFIER = PasswordHasher()


@dataclass(frozen=True)
class Scheme:
    """Verification of one stored hash. ``seconds`` is an estimate for an ordinary core, ``memory`` is in bytes."""

    matches: Callable[[bytes], bool]
    seconds: float
    memory: int = 0


def bcrypt_scheme(stored: str, *, prehashed: bool = False) -> Scheme:
    """Return the scheme of a bcrypt hash. Raises ValueError for a malformed hash.

    ``prehashed``: hash of the password's SHA-256 in hexadecimal, as in Django's ``bcrypt_sha256``.
    """
    known = stored.encode("ascii")
    bcrypt.checkpw(b"", _cheapest(known))  # the library detects a malformed hash

    def matches(password: bytes) -> bool:
        typed = hashlib.sha256(password).hexdigest().encode() if prehashed else password
        return bcrypt.checkpw(typed[:BCRYPT_READS], known)

    return Scheme(matches, 2 ** int(known[4:6]) * BCRYPT_SECONDS)


def _cheapest(stored: bytes) -> bytes:
    """Return the hash with the lowest cost, for a quick format check."""
    return stored[:4] + b"04" + stored[6:]


def pbkdf2_scheme(digest: str, rounds: int, salt: bytes, expected: bytes) -> Scheme:
    if digest not in PBKDF2_SECONDS or rounds < 1 or len(expected) < 16:
        raise ValueError

    def matches(password: bytes) -> bool:
        made = hashlib.pbkdf2_hmac(digest, password, salt, rounds, len(expected))
        return hmac.compare_digest(made, expected)

    blocks = -(-len(expected) // hashlib.new(digest).digest_size)  # rounded up: a partial block costs a whole one
    return Scheme(matches, rounds * blocks * PBKDF2_SECONDS[digest])


def scrypt_scheme(shape: tuple[int, int, int], salt: bytes, expected: bytes) -> Scheme:
    """Return the scheme of an scrypt hash.

    ``shape`` is N, r and p. Raises ValueError for parameters that scrypt refuses.
    """
    n, r, p = shape
    if n < 2 or n & (n - 1) or r < 1 or p < 1 or len(expected) < 16:
        raise ValueError
    memory = 128 * r * (n + p + 2)  # OpenSSL refuses a smaller ``maxmem``

    def matches(password: bytes) -> bool:
        made = hashlib.scrypt(password, salt=salt, n=n, r=r, p=p, maxmem=memory + MEBIBYTE, dklen=len(expected))
        return hmac.compare_digest(made, expected)

    return Scheme(matches, n * r * p * SCRYPT_SECONDS, memory)


def argon2_scheme(stored: str) -> Scheme:
    try:
        shape = extract_parameters(stored)
    except InvalidHashError:
        raise ValueError from None

    def matches(password: bytes) -> bool:
        try:
            return _VERIFIER.verify(stored, password)
        except (Argon2Error, InvalidHashError):
            return False

    cost = shape.memory_cost * shape.time_cost * ARGON2_SECONDS
    return Scheme(matches, cost, shape.memory_cost * KIBIBYTE)
