"""Ports of operations."""

from adapters.memory.mail import MemoryOutbox, MemoryOutboxState
from adapters.memory.operations.audit import MemoryAuditTrail
from adapters.memory.operations.retention import MemoryRetention
from adapters.memory.operations.token_versions import MemoryTokenVersions
from adapters.memory.store import MemoryContext


class MemoryOperationPorts(MemoryContext):
    @property
    def audit(self) -> MemoryAuditTrail:
        return MemoryAuditTrail(self.access, self.ids, self.registry)

    @property
    def outbox(self) -> MemoryOutbox:
        return MemoryOutbox(self.access)

    @property
    def outbox_state(self) -> MemoryOutboxState:
        return MemoryOutboxState(self.access)

    @property
    def token_versions(self) -> MemoryTokenVersions:
        return MemoryTokenVersions(self.access)

    @property
    def retention(self) -> MemoryRetention:
        return MemoryRetention(self.access)
