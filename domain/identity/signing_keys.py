"""Keys rotate with overlap: each is used from its hour on, and read with until the last that it made has ended."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Literal

from msgspec import Struct

LEEWAY = timedelta(seconds=5)
"""How far clocks may differ when a token's times are checked."""

NOTICE = timedelta(seconds=60)
"""A new key signs only after this long, when every process has read it and every reader of the JWK Set can have."""


OVERLAP = timedelta(days=1)
"""How long a password may come encrypted to a key that has a successor: a page may have been open for hours."""

Purpose = Literal["EdDSA", "RSA-OAEP-256", "ECDH-ES+A256KW"]
"""What a key is for, by the algorithm: it signs tokens, or passwords are encrypted to it."""

SIGNS: Purpose = "EdDSA"
OPENS_PASSWORDS: tuple[Purpose, ...] = ("RSA-OAEP-256", "ECDH-ES+A256KW")
PURPOSES: tuple[Purpose, ...] = (SIGNS, *OPENS_PASSWORDS)


class SigningKey(Struct, frozen=True, kw_only=True):
    """``public`` is the public JWK as JSON, ``sealed`` the private one, readable with the secret key alone."""

    kid: str
    public: str
    sealed: str
    active_from: datetime
    purpose: Purpose = SIGNS


def signing_key(keys: Sequence[SigningKey], now: datetime) -> SigningKey:
    """Of one purpose: the newest key whose hour has come; before the very first one's, the first."""
    ordered = sorted(keys, key=lambda key: key.active_from)
    active = [key for key in ordered if key.active_from <= now]
    return active[-1] if active else ordered[0]


def living_keys(keys: Sequence[SigningKey], now: datetime, token_lifetime: timedelta) -> list[SigningKey]:
    """Those that verify and are published: the signing one, its coming successors, and its predecessors
    as long as a token that they signed can be alive."""
    ordered = sorted(keys, key=lambda key: key.active_from)
    ends = [successor.active_from + token_lifetime + LEEWAY for successor in ordered[1:]]
    return [key for key, end in zip_longest(ordered, ends) if end is None or now < end]
