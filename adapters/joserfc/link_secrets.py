"""Secrets of links in mails, derived by a key that is not in the database."""

import hmac
from uuid import UUID

from adapters.joserfc.sealing import derived_key, encoded


class DerivedLinkSecrets:
    """Derives a link's secret as the HMAC of its mail's id."""

    # Nothing secret has to be stored with a mail that waits: the sender computes it, a reader of the outbox cannot.

    def __init__(self, secret_key: str) -> None:
        self._key = derived_key(secret_key, "links in mails")

    def secret(self, mail_id: UUID) -> str:
        return encoded(hmac.digest(self._key, mail_id.bytes, "sha256"))
