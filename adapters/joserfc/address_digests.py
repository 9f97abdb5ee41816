"""Digests of former members' addresses, with a key outside the database."""

import hmac
from uuid import UUID

from adapters.joserfc.sealing import derived_keys


class KeyedAddressDigests:
    """HMAC-SHA-256 of tenant and mailbox. Also recognises digests made with the ``other`` secret."""

    # Security: company addresses can be guessed, so a digest needs a key.

    def __init__(self, secret_key: str, other: str | None = None) -> None:
        self._keys = derived_keys(secret_key, other, "addresses of former members")

    def of(self, tenant_id: UUID, mailbox: str) -> list[bytes]:
        return [hmac.digest(key, tenant_id.bytes + mailbox.encode(), "sha256") for key in self._keys]
