"""The ports of all parts on one state."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.memory.entities.ports import MemoryEntityPorts
from adapters.memory.entities.webhooks.ports import MemoryWebhookPorts
from adapters.memory.identity.factors.stored_factors import MemoryFactorPorts
from adapters.memory.identity.joining.ports import MemoryJoiningPorts
from adapters.memory.identity.ports import MemoryIdentityPorts
from adapters.memory.identity.self_service.personal_data import MemorySelfServicePorts
from adapters.memory.identity.service_accounts.ports import MemoryServiceAccountPorts
from adapters.memory.operations.ports import MemoryOperationPorts


class MemoryTransaction(
    MemoryIdentityPorts,
    MemoryJoiningPorts,
    MemoryFactorPorts,
    MemoryServiceAccountPorts,
    MemorySelfServicePorts,
    MemoryEntityPorts,
    MemoryWebhookPorts,
    MemoryOperationPorts,
):
    """All parts of the database on one state and one scope."""

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        before = self.access.read().copy()
        try:
            yield
        except Exception:
            self.access.lock().become(before)
            raise
