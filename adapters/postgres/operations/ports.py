"""Ports of operations."""

from adapters.postgres.context import PostgresContext
from adapters.postgres.operations.audit import PostgresAuditTrail
from adapters.postgres.operations.outbox import PostgresOutbox, PostgresOutboxState
from adapters.postgres.operations.retention import PostgresRetention
from adapters.postgres.operations.token_versions import PostgresTokenVersions


class PostgresOperationPorts(PostgresContext):
    __slots__ = ()

    @property
    def audit(self) -> PostgresAuditTrail:
        return PostgresAuditTrail(self.connection, self.ids, self.registry)

    @property
    def outbox(self) -> PostgresOutbox:
        return PostgresOutbox(self.connection)

    @property
    def outbox_state(self) -> PostgresOutboxState:
        return PostgresOutboxState(self.connection)

    @property
    def token_versions(self) -> PostgresTokenVersions:
        return PostgresTokenVersions(self.connection)

    @property
    def retention(self) -> PostgresRetention:
        return PostgresRetention(self.connection)
