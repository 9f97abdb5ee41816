"""Ports of service accounts."""

from adapters.memory.identity.service_accounts.accounts import MemoryServiceAccounts
from adapters.memory.identity.service_accounts.keys import MemoryApiKeys
from adapters.memory.store import MemoryContext


class MemoryServiceAccountPorts(MemoryContext):
    @property
    def service_accounts(self) -> MemoryServiceAccounts:
        return MemoryServiceAccounts(self.access)

    @property
    def api_keys(self) -> MemoryApiKeys:
        return MemoryApiKeys(self.access)
