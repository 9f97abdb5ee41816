"""Digests of addresses of former members, by a key that is not in the database."""

import hmac
from uuid import UUID

from adapters.joserfc.sealing import derived_keys


class KeyedAddressDigests:
    """HMAC-SHA-256 of tenant and mailbox; digests of the ``other`` secret are recognised beside those of the first."""

    # Addresses of a company can be guessed, so that a digest without a key would hide none of them.

    def __init__(self, secret_key: str, other: str | None = None) -> None:
        self._keys = derived_keys(secret_key, other, "addresses of former members")

    def of(self, tenant_id: UUID, mailbox: str) -> list[bytes]:
        return [hmac.digest(key, tenant_id.bytes + mailbox.encode(), "sha256") for key in self._keys]
