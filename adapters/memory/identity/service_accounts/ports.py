"""Ports of service accounts."""

from adapters.memory.identity.service_accounts.accounts import MemoryServiceAccounts
from adapters.memory.identity.service_accounts.keys import MemoryApiKeys
from adapters.memory.store import MemoryContext, Retained
from domain.parts.service_accounts import API_KEYS


class MemoryServiceAccountPorts(MemoryContext):
    @property
    def service_accounts(self) -> MemoryServiceAccounts:
        return MemoryServiceAccounts(self.access)

    @property
    def api_keys(self) -> MemoryApiKeys:
        return MemoryApiKeys(self.access)


RETAINED: Retained = {
    API_KEYS: lambda store: (store.api_keys, {digest: each.key.ends_at for digest, each in store.api_keys.items()}),
}
