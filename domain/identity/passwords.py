"""Rules of new passwords: their length, their similarity to the account's data, and the list of common passwords."""

import lzma
import re
import string
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from domain.errors import FieldError
from domain.identity.users import PASSWORD_LENGTH, TYPED_LENGTH, normal_password

SHORTEST_STEM = 4
"""Minimum length of a common password that is detected within other digits and punctuation."""
LEAST_CHARACTERS = 4
"""Minimum number of different characters: ``abababab`` and ``19900101`` have fewer."""
_ENDINGS = string.digits + string.punctuation


def password_errors(
    password: str, *, email: str, full_name: str, field: str, words: Iterable[str]
) -> tuple[FieldError, ...]:
    """Return errors of a new password: its length, its similarity to the account, and whether it is common.

    ``words`` are likely guesses: names of the service, names and identifiers of the account's tenants.
    """
    # NIST SP 800-63B advises against composition rules.
    shortest, longest = PASSWORD_LENGTH
    normal = normal_password(password)
    if len(password) > TYPED_LENGTH or not shortest <= len(normal) <= longest:
        return (FieldError(field, f"must have {shortest} to {longest} characters"),)
    if len(set(normal.casefold())) < LEAST_CHARACTERS:
        return (FieldError(field, f"needs {LEAST_CHARACTERS} different characters: choose another"),)
    if _is_made_of(normal, (email, email.rpartition("@")[0], full_name, *full_name.split())):
        return (FieldError(field, "must not be made of your e-mail or name"),)
    if _is_made_of(normal, words):
        return (FieldError(field, "must not be made of the name of the service or of a tenant"),)
    if is_common(normal):
        return (FieldError(field, "is among the most common passwords: choose another"),)
    return ()


def _is_made_of(password: str, words: Iterable[str]) -> bool:
    # Compare only letters: "Ada-1990!" contains only the name "Ada".
    folded = password.casefold()
    bare = _letters(folded)
    return any(folded == word.casefold() or (bare and bare == _letters(word.casefold())) for word in words)


def _letters(text: str) -> str:
    return "".join(char for char in text if char.isalpha())


def is_common(normal: str) -> bool:
    """Return whether an NFKC password is common, ignoring case and the end.

    The comparison omits digits and punctuation at the end: the list has ``letmein1``, so ``letmein12`` is common.
    """
    folded = normal.casefold()
    if f"\n{folded}\n".encode(errors="replace") in _common_passwords():
        return True
    stem = folded.rstrip(_ENDINGS)
    if len(stem) < SHORTEST_STEM or stem == folded:
        return False
    listed = rb"\n%b[0-9]*\n" % re.escape(stem.encode(errors="replace"))
    return re.search(listed, _common_passwords()) is not None


@cache
def _common_passwords() -> bytes:
    """Return the sufficiently long common passwords, each between two line feeds; loaded at the first use."""
    # 200 kB in one piece: a search needs microseconds, but a set needs megabytes per process.
    return lzma.decompress(Path(__file__).with_name("common-passwords.txt.xz").read_bytes())
