"""Signatures of Standard Webhooks 1.0: schemes, prefixes of keys, and the signed text."""

from datetime import datetime
from typing import Literal

SignatureScheme = Literal["v1", "v1a"]
"""``v1`` is HMAC-SHA256 with a shared secret, ``v1a`` is Ed25519 with a public key."""

SECRET_PREFIX, PUBLIC_PREFIX = "whsec_", "whpk_"


def signed_text(message_id: str, at: datetime, body: bytes) -> bytes:
    """Return the bytes that a signature covers. Raises ValueError for an id with a dot, which separates the parts."""
    if "." in message_id:
        raise ValueError(f"{message_id!r} contains a dot")
    # Standard Webhooks signs whole seconds.
    return f"{message_id}.{int(at.timestamp())}.".encode() + body
