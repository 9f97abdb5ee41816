"""Passwords in request bodies: plain over TLS, or encrypted with a key of the service."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from msgspec import UNSET, UnsetType

from application.ports.database import Database
from application.ports.identity.passwords import EncryptedPasswords, NonceTransaction, OpenedPassword
from application.ports.runtime import Clock
from domain.errors import ValidationError
from domain.identity.tokens import LEEWAY
from domain.scope import EveryTenant

OLDEST = timedelta(seconds=120)
"""Maximum age of an encrypted password."""
WHAT_TO_SEND = (
    "must be a JWE in compact serialization (alg RSA-OAEP-256 or ECDH-ES+A256KW, enc A256GCM, at most 2 kB) of "
    '{"password", "iat", "jti"}, made within 120 seconds, used once, to the key of use "enc" in '
    "/.well-known/jwks.json; "
    "or the plain password with isPasswordEncrypted: false"
)


@dataclass(frozen=True)
class PasswordReader:
    """Reads the password of a body; ``strict`` requires encryption if ``isPasswordEncrypted`` is missing."""

    database: Database[NonceTransaction]
    sealed: EncryptedPasswords
    clock: Clock
    strict: bool

    async def read(self, text: str, is_encrypted: bool | UnsetType, field: str) -> str:
        """Return the password in plain text.

        Raises ValidationError on ``field``, with one message for every fault of an encrypted password.
        """
        if is_encrypted is False:
            return text
        if is_encrypted is UNSET and not self.strict and not self.sealed.is_encrypted(text):
            return text
        now = self.clock.now()
        opened = self.sealed.open(text, now)
        # Consume the nonce last, so that a password refused for another reason can be resent.
        if opened is None or not _is_fresh(opened, now) or not await self._consume_nonce(opened, now):
            raise ValidationError.on(field, WHAT_TO_SEND)
        return opened.password

    async def _consume_nonce(self, opened: OpenedPassword, now: datetime) -> bool:
        # Store a digest of the nonce, because the sender chose the nonce's length and characters.
        until = datetime.fromtimestamp(opened.sealed_at, UTC) + OLDEST + LEEWAY
        async with self.database.autocommit(EveryTenant()) as tx:
            return await tx.used_nonces.consume(sha256(opened.jti.encode()).hexdigest(), until, now)


def _is_fresh(opened: OpenedPassword, now: datetime) -> bool:
    # The sender's clock may be ahead by LEEWAY.
    age = now.timestamp() - opened.sealed_at
    return -LEEWAY.total_seconds() <= age <= OLDEST.total_seconds()
