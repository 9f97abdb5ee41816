"""Rotation of the service's keys: used from ``active_from`` on, accepted until the last token expires."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Literal

from msgspec import Struct

from domain.identity.tokens import LEEWAY

# Every process and every client with a cached JWK Set reloads keys within this time.
NOTICE = timedelta(seconds=60)
"""Time between the publication of a new key and its first use."""


OVERLAP = timedelta(days=1)
"""Time for which a replaced key still decrypts passwords: a login page may stay open for hours."""

Purpose = Literal["EdDSA", "RSA-OAEP-256", "ECDH-ES+A256KW"]
"""Use of a key by algorithm: EdDSA signs tokens, the others encrypt passwords."""

SIGNS: Purpose = "EdDSA"
OPENS_PASSWORDS: tuple[Purpose, ...] = ("RSA-OAEP-256", "ECDH-ES+A256KW")
PURPOSES: tuple[Purpose, ...] = (SIGNS, *OPENS_PASSWORDS)


class SigningKey(Struct, frozen=True, kw_only=True):
    """A key pair. ``public`` is the public JWK as JSON, ``sealed`` the private one, encrypted with the secret key."""

    kid: str
    public: str
    sealed: str
    active_from: datetime
    purpose: Purpose = SIGNS


def signing_key(keys: Sequence[SigningKey], now: datetime) -> SigningKey:
    """Return the newest active key among keys of one purpose, else the first key."""
    ordered = sorted(keys, key=lambda key: key.active_from)
    active = [key for key in ordered if key.active_from <= now]
    return active[-1] if active else ordered[0]


def living_keys(keys: Sequence[SigningKey], now: datetime, token_lifetime: timedelta) -> list[SigningKey]:
    """Return the public keys that verify tokens: current, announced, and retired ones with valid tokens."""
    ordered = sorted(keys, key=lambda key: key.active_from)
    ends = [successor.active_from + token_lifetime + LEEWAY for successor in ordered[1:]]
    return [key for key, end in zip_longest(ordered, ends) if end is None or now < end]
