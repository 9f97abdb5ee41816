"""Keyring of the service: signing keys, and encryption keys for passwords."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from adapters.joserfc.passwords import JoserfcEncryptedPasswords
from adapters.joserfc.tokens import JoserfcTokens
from domain.identity.signing_keys import SIGNS, Purpose, SigningKey


@dataclass(frozen=True)
class JoserfcKeyring:
    tokens: JoserfcTokens
    passwords: JoserfcEncryptedPasswords

    def use(self, keys: Sequence[SigningKey]) -> None:
        """Load the stored keys by purpose. Raises WrongSecretKey."""
        self.tokens.use(keys)
        self.passwords.use(keys)

    def make_key(self, purpose: Purpose, active_from: datetime) -> SigningKey:
        if purpose == SIGNS:
            return self.tokens.make_key(active_from)
        return self.passwords.make_key(purpose, active_from)

    def resealed(self, key: SigningKey) -> SigningKey:
        return (self.tokens if key.purpose == SIGNS else self.passwords).resealed(key)

    def published(self, now: datetime) -> bytes:
        """Return the JWK Set as JSON."""
        return msgspec.json.encode({"keys": [*self.tokens.public_keys(now), *self.passwords.public_keys(now)]})
