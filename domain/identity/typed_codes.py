"""Codes that people type: one-time passwords by time, recovery codes and the secrets of links, which serve once each.

One-time passwords are those of RFC 6238 with SHA-1, six digits and steps of 30 s, as authenticator apps make them.
"""

import hmac
from base64 import b32encode
from datetime import datetime
from hashlib import sha256
from urllib.parse import quote, urlencode

SECRET_BYTES = 20
DIGITS = 6
STEP_SECONDS = 30
DRIFT = 1
"""Steps that the clock of the app may be off, either way."""

CODES = 10
CODE_BYTES = 10
_LETTERS = 16
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32, without letters that are read as other ones."""

_MISREAD = str.maketrans("OIL", "011")


def code_at(secret: bytes, step: int) -> str:
    """The code of a step: RFC 4226, section 5.3."""
    digest = hmac.digest(secret, step.to_bytes(8), "sha1")
    offset = digest[-1] & 0xF
    number = int.from_bytes(digest[offset : offset + 4]) & 0x7FFF_FFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def step_at(now: datetime) -> int:
    return int(now.timestamp()) // STEP_SECONDS


def matching_step(secret: bytes, code: str, now: datetime) -> int | None:
    """The step whose code this is, within DRIFT of now; None for a wrong code. Blanks between digits are taken."""
    digits = "".join(code.split())
    if len(digits) != DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    current = step_at(now)
    # Security: every step is compared, so that the time does not tell which one was near.
    near = range(current - DRIFT, current + DRIFT + 1)
    found = [step for step in near if hmac.compare_digest(code_at(secret, step), digits)]
    return found[-1] if found else None


def base32(secret: bytes) -> str:
    """The secret as people type it into an app."""
    return b32encode(secret).decode().rstrip("=")


def otpauth_uri(secret: bytes, account: str, issuer: str) -> str:
    """Address that apps read from a QR code: ``otpauth://totp/Tenantry:ada%40example.com?secret=…``."""
    # A colon parts issuer and account, so the issuer cannot have one.
    name = issuer.replace(":", " ")
    label = f"{quote(name, safe='')}:{quote(account, safe='')}"
    values = {"secret": base32(secret), "issuer": name, "algorithm": "SHA1", "digits": DIGITS, "period": STEP_SECONDS}
    return f"otpauth://totp/{label}?{urlencode(values, quote_via=quote)}"


def typed_code(random: bytes) -> str:
    """``XXXX-XXXX-XXXX-XXXX`` of 80 random bits."""
    number = int.from_bytes(random)
    letters = "".join(_ALPHABET[number >> shift & 31] for shift in range(8 * CODE_BYTES - 5, -1, -5))
    return "-".join(letters[at : at + 4] for at in range(0, len(letters), 4))


def read_code(text: str) -> str | None:
    """The sixteen letters of a code as it was typed, None for a text that is no code.

    Case, blanks, hyphens and letters that look like digits make no difference.
    """
    typed = "".join(text.split()).replace("-", "").upper().translate(_MISREAD)
    return typed if len(typed) == _LETTERS and all(letter in _ALPHABET for letter in typed) else None


def recovery_digest(text: str) -> bytes | None:
    """The stored form of a recovery code as it was typed, None for a text that is no code."""
    typed = read_code(text)
    # A code has 80 random bits and cannot be guessed, so a fast hash is enough.
    return None if typed is None else sha256(typed.encode()).digest()


def token_hash(secret: str) -> str:
    """The stored form of the secret of a link, which a reader of the mail may type as well.

    80 random bits are enough: a secret lives for days, an address tries a hundred a minute, and a million addresses
    make 2^41 tries in two weeks. Whoever reads the hash would have to compute 2^60 a second.
    """
    return sha256((read_code(secret) or secret).encode()).hexdigest()
