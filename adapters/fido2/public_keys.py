"""Checks of passkeys' public keys before storage: fido2 also stores keys that it cannot use for verification."""

from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicNumbers
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

RSA_BITS = (2_048, 8_192)
"""Minimum and maximum size of an RSA modulus. An attacker can factor a shorter one; a longer one occupies a core at
each login.
"""

EXPONENT_BITS = 32
"""Maximum size of an exponent, in practice 65537: it determines the duration of a login."""

_PRIME = 2**255 - 19
_SMALL_ORDER = frozenset(
    {
        0,
        1,
        _PRIME - 1,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
    }
)
"""The y coordinates of the Ed25519 points with an order that divides 8. Such a key accepts anybody's signatures."""


def is_sound(key: Mapping[int, Any]) -> bool:
    """Return whether an ES256, EdDSA or RS256 COSE key (RFC 9053) is valid and secure.

    Raises KeyError, TypeError or ValueError for malformed members.
    """
    match key[3], key[1]:
        case -7, 2:
            return key[-1] == 1 and _is_on_curve(key[-2], key[-3])
        case -8, 1:
            return key[-1] == 6 and _is_point(key[-2])
        case -257, 3:
            return _is_rsa(key[-1], key[-2])
    return False


def _is_on_curve(x: bytes, y: bytes) -> bool:
    if len(x) != 32 or len(y) != 32:
        return False
    # Raises ValueError for a point that is not on the curve.
    EllipticCurvePublicNumbers(int.from_bytes(x), int.from_bytes(y), SECP256R1()).public_key()
    return True


def _is_point(text: bytes) -> bool:
    Ed25519PublicKey.from_public_bytes(text)  # raises ValueError for another length
    y = int.from_bytes(text, "little") % 2**255  # the highest bit is the sign of x
    return y < _PRIME and y not in _SMALL_ORDER


def _is_rsa(modulus: bytes, exponent: bytes) -> bool:
    n, e = int.from_bytes(modulus), int.from_bytes(exponent)
    return RSA_BITS[0] <= n.bit_length() <= RSA_BITS[1] and n % 2 == 1 and e % 2 == 1 and 3 <= e < 2**EXPONENT_BITS
