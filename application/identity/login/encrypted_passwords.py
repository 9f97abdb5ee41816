"""Passwords as they come in a body: plain over TLS, or encrypted to a key of ours, once and freshly."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from msgspec import UNSET, UnsetType

from application.ports.clock import Clock
from application.ports.database import Database
from application.ports.identity.encrypted_passwords import EncryptedPasswords, NonceTransaction, OpenedPassword
from domain.errors import ValidationError
from domain.identity.signing_keys import LEEWAY
from domain.scope import EveryTenant

OLDEST = timedelta(seconds=120)
WHAT_TO_SEND = (
    'takes a JWE in compact form (alg RSA-OAEP-256 or ECDH-ES+A256KW, enc A256GCM, at most 2 kB) of {"password", '
    '"iat", "jti"}, made within 120 seconds, used once, to the key of use "enc" in /.well-known/jwks.json; '
    "or the plain password with isPasswordEncrypted: false"
)


@dataclass(frozen=True)
class PasswordReader:
    """``strict``: what does not say how it was sent must be encrypted, which settings can ask of logins."""

    database: Database[NonceTransaction]
    sealed: EncryptedPasswords
    clock: Clock
    strict: bool

    async def read(self, text: str, is_encrypted: bool | UnsetType, field: str) -> str:
        """The password itself; raises ValidationError on ``field``, whoever it is for."""
        if is_encrypted is False:
            return text
        if is_encrypted is UNSET and not self.strict and not self.sealed.is_encrypted(text):
            return text
        now = self.clock.now()
        opened = self.sealed.open(text, now)
        if opened is None or not _is_fresh(opened, now) or not await self._spend(opened, now):
            raise ValidationError.on(field, WHAT_TO_SEND)
        return opened.password

    async def _spend(self, opened: OpenedPassword, now: datetime) -> bool:
        """Kept by its digest: the id itself is the sender's, of any length and of any characters."""
        until = datetime.fromtimestamp(opened.sealed_at, UTC) + OLDEST + LEEWAY
        async with self.database.autocommit(EveryTenant()) as tx:
            return await tx.used_nonces.consume(sha256(opened.jti.encode()).hexdigest(), until, now)


def _is_fresh(opened: OpenedPassword, now: datetime) -> bool:
    age = now.timestamp() - opened.sealed_at
    return -LEEWAY.total_seconds() <= age <= OLDEST.total_seconds()
