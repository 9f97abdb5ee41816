"""Text forms of other systems' password hashes, parsed into verification schemes."""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable

from adapters.argon2.keycloak import phc_of
from adapters.argon2.schemes import (
    MEBIBYTE,
    Scheme,
    argon2_scheme,
    bcrypt_scheme,
    pbkdf2_scheme,
    scrypt_scheme,
)
from application.ports.identity.passwords import FOREIGN

# Imported hashes bring their own cost, and every login attempt pays it.
LONGEST_SECONDS = 0.5
MOST_MEMORY = 256 * MEBIBYTE
LONGEST_TEXT = 1000

KNOWN = "argon2, bcrypt, pbkdf2 (Django, passlib, PHC, Werkzeug, ASP.NET, Keycloak) or scrypt (PHC, Django, Werkzeug)"

_Found = re.Match[str]
_NUMBER, _WORD, _B64 = r"([0-9]{1,9})", r"([^$]{1,200})", r"([A-Za-z0-9+/.=_-]{1,400})"


class Argon2ForeignHashes:
    def accepted(self, text: str) -> str:
        stored = phc_of(text) if text.lstrip().startswith("{") else text.strip()
        scheme = scheme_of(stored)
        if scheme is None:
            raise ValueError(f"is not a hash of a form that is known here: {KNOWN}")
        if scheme.seconds > LONGEST_SECONDS or scheme.memory > MOST_MEMORY:
            raise ValueError(
                f"would take about {scheme.seconds:.1f} s and {scheme.memory // MEBIBYTE} MiB to check at each login; "
                f"{LONGEST_SECONDS} s and {MOST_MEMORY // MEBIBYTE} MiB are taken: "
                "import the user without it, and they set a password by mail"
            )
        return FOREIGN + stored


def scheme_of(stored: str) -> Scheme | None:
    """Return the scheme of a stored hash; None for an unknown format or invalid parameters."""
    if len(stored) > LONGEST_TEXT:
        return None
    for pattern, read in _FORMS:
        found = pattern.fullmatch(stored)
        if found is not None:
            try:
                return read(found)
            except (ValueError, OverflowError, NotBase64):
                return None
    return None


def _b64(text: str) -> bytes:
    """Decodes base64, also passlib's alphabet (``.`` for ``+``) and without padding."""
    bare = text.rstrip("=").replace(".", "+")
    return b64decode(bare + "=" * (-len(bare) % 4), validate=True)


def _django_pbkdf2(found: _Found) -> Scheme:
    return pbkdf2_scheme(found[1], int(found[2]), found[3].encode(), _b64(found[4]))


def _modular_pbkdf2(found: _Found) -> Scheme:
    return pbkdf2_scheme(found[1] or "sha1", int(found[2]), _b64(found[3]), _b64(found[4]))


def _werkzeug_pbkdf2(found: _Found) -> Scheme:
    return pbkdf2_scheme(found[1], int(found[2]), found[3].encode(), bytes.fromhex(found[4]))


def _phc_scrypt(found: _Found) -> Scheme:
    """Reads ``$scrypt$ln=14,r=8,p=1$salt$hash``."""
    ln = int(found[1])
    # Some libraries write N, not its logarithm. A logarithm is below 64, so a larger number is N.
    n = 1 << ln if ln < 64 else ln
    return scrypt_scheme((n, int(found[2]), int(found[3])), _b64(found[4]), _b64(found[5]))


def _django_scrypt(found: _Found) -> Scheme:
    return scrypt_scheme((int(found[1]), int(found[3]), int(found[4])), found[2].encode(), _b64(found[5]))


def _werkzeug_scrypt(found: _Found) -> Scheme:
    shape = (int(found[1]), int(found[2]), int(found[3]))
    return scrypt_scheme(shape, found[4].encode(), bytes.fromhex(found[5]))


_ASPNET_DIGESTS = ("sha1", "sha256", "sha512")


def _aspnet(found: _Found) -> Scheme:
    """ASP.NET Core Identity: version 3 contains its parameters, version 2 is 1,000 rounds of SHA-1."""
    blob = b64decode(found[0], validate=True)
    if blob[0] == 0 and len(blob) == 49:
        return pbkdf2_scheme("sha1", 1000, blob[1:17], blob[17:])
    if blob[0] != 1 or len(blob) < 45:
        raise ValueError
    digest, rounds, length = (int.from_bytes(blob[n : n + 4]) for n in (1, 5, 9))
    if digest >= len(_ASPNET_DIGESTS) or length > 64:
        raise ValueError
    return pbkdf2_scheme(_ASPNET_DIGESTS[digest], rounds, blob[13 : 13 + length], blob[13 + length :])


_BCRYPT = r"(\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53})"

_FORMS: tuple[tuple[re.Pattern[str], Callable[[_Found], Scheme]], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        # Django adds the optional prefixes argon2, bcrypt$ and bcrypt_sha256$.
        (r"(?:argon2)?(\$argon2(?:id|i|d)\$.{1,400})", lambda found: argon2_scheme(found[1])),
        (rf"(?:bcrypt\$)?{_BCRYPT}", lambda found: bcrypt_scheme(found[1])),
        (rf"bcrypt_sha256\${_BCRYPT}", lambda found: bcrypt_scheme(found[1], prehashed=True)),
        (rf"pbkdf2_(sha1|sha256)\${_NUMBER}\${_WORD}\${_B64}", _django_pbkdf2),
        (rf"\$pbkdf2(?:-(sha256|sha512))?\$(?:i=)?{_NUMBER}(?:,l=[0-9]{{1,4}})?\${_B64}\${_B64}", _modular_pbkdf2),
        (rf"pbkdf2:(sha1|sha256|sha512):{_NUMBER}\${_WORD}\$([0-9a-f]{{32,256}})", _werkzeug_pbkdf2),
        (rf"\$scrypt\$ln={_NUMBER},r={_NUMBER},p={_NUMBER}\${_B64}\${_B64}", _phc_scrypt),
        (rf"scrypt\${_NUMBER}\${_WORD}\${_NUMBER}\${_NUMBER}\${_B64}", _django_scrypt),
        (rf"scrypt:{_NUMBER}:{_NUMBER}:{_NUMBER}\${_WORD}\$([0-9a-f]{{32,256}})", _werkzeug_scrypt),
        (r"A[A-Za-z0-9+/]{50,200}={0,2}", _aspnet),
    )
)
