"""Secrets of authenticator apps and of webhooks, encrypted for the database as JWEs that name their owner."""

from adapters.joserfc.owned_secrets import SealedOwnedSecrets


class SealedFactorSecrets(SealedOwnedSecrets):
    """Secrets of authenticator apps; the owner is a user."""

    def __init__(self, secret_key: str, other: str | None = None) -> None:
        super().__init__(secret_key, other, "authenticator apps")


class SealedWebhookSecrets(SealedOwnedSecrets):
    """Secrets of webhooks; the owner is a webhook."""

    def __init__(self, secret_key: str, other: str | None = None) -> None:
        super().__init__(secret_key, other, "webhooks")
