"""Webhooks and their deliveries in the database, and their signatures."""

from typing import Protocol
from uuid import UUID

from domain.entities.webhooks.signatures import SignatureScheme


class Signer(Protocol):
    """Signatures of Standard Webhooks 1.0."""

    def new_secret(self) -> bytes:
        """Return a random secret for either scheme."""
        ...

    def shown(self, scheme: SignatureScheme, secret: bytes) -> str:
        """Return the text for receivers: ``whsec_…`` with the secret (``v1``), ``whpk_…`` with the public key."""
        ...

    def signature(self, scheme: SignatureScheme, secret: bytes, text: bytes) -> str:
        """Return the signature of ``signed_text`` with its scheme, such as ``v1,K5oZ…``."""
        ...


class WebhookSecrets(Protocol):
    """Sealing of secrets for the database."""

    def seal(self, owner_id: UUID, secret: bytes) -> str: ...

    def open(self, owner_id: UUID, sealed: str) -> bytes | None:
        """Return the secret; None if it was sealed for another webhook or with another secret key."""
        ...
