"""Recovery codes: for people who lost their second factor. Each serves once."""

from hashlib import sha256

CODES = 10
CODE_BYTES = 10
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32, without letters that are read as other ones."""

_MISREAD = str.maketrans("OIL", "011")


def recovery_code(random: bytes) -> str:
    """``XXXX-XXXX-XXXX-XXXX`` of 80 random bits."""
    number = int.from_bytes(random)
    letters = "".join(_ALPHABET[number >> shift & 31] for shift in range(8 * CODE_BYTES - 5, -1, -5))
    return "-".join(letters[at : at + 4] for at in range(0, len(letters), 4))


def recovery_digest(text: str) -> bytes | None:
    """The stored form of a code as it was typed, None for a text that is no code."""
    typed = "".join(text.split()).replace("-", "").upper().translate(_MISREAD)
    if len(typed) != 16 or any(letter not in _ALPHABET for letter in typed):
        return None
    # A code has 80 random bits and cannot be guessed, so a fast hash is enough.
    return sha256(typed.encode()).digest()
