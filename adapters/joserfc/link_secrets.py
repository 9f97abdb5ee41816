"""What links in mails carry, made by a key that is not in the database."""

import hmac
from uuid import UUID

from adapters.joserfc.sealing import derived_key, encoded


class DerivedLinkSecrets:
    """The HMAC of the mail's id: whoever sends it can tell it, whoever reads the outbox cannot."""

    def __init__(self, secret_key: str) -> None:
        self._key = derived_key(secret_key, "links in mails")

    def secret(self, mail_id: UUID) -> str:
        return encoded(hmac.digest(self._key, mail_id.bytes, "sha256"))
