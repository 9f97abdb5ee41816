"""Secrets of links in mails and of proofs, derived by a key that is not in the database."""

import hmac
from uuid import UUID

from adapters.joserfc.sealing import derived_key, encoded
from domain.identity.typed_codes import CODE_BYTES, typed_code


class DerivedLinkSecrets:
    """Derives secrets as the HMAC of the id of what they are for."""

    # Security: the outbox does not store the secret, because the sender can compute it. A reader of the outbox does not
    # see it.

    def __init__(self, secret_key: str) -> None:
        self._key = derived_key(secret_key, "links in mails")

    def code(self, mail_id: UUID) -> str:
        return typed_code(hmac.digest(self._key, b"code " + mail_id.bytes, "sha256")[:CODE_BYTES])

    def secret(self, record_id: UUID) -> str:
        return encoded(hmac.digest(self._key, record_id.bytes, "sha256"))
