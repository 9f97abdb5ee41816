"""The ports of all database areas on one connection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.postgres.entities.ports import PostgresEntityPorts
from adapters.postgres.entities.webhooks.ports import PostgresWebhookPorts
from adapters.postgres.identity.factors.stored_factors import PostgresFactorPorts
from adapters.postgres.identity.joining.ports import PostgresJoiningPorts
from adapters.postgres.identity.ports import PostgresIdentityPorts
from adapters.postgres.identity.self_service.personal_data import PostgresSelfServicePorts
from adapters.postgres.identity.service_accounts.ports import PostgresServiceAccountPorts
from adapters.postgres.operations.ports import PostgresOperationPorts


class PostgresTransaction(
    PostgresIdentityPorts,
    PostgresJoiningPorts,
    PostgresFactorPorts,
    PostgresServiceAccountPorts,
    PostgresSelfServicePorts,
    PostgresEntityPorts,
    PostgresWebhookPorts,
    PostgresOperationPorts,
):
    """All parts of the database on one connection."""

    __slots__ = ()

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        # Do not release the savepoint: it ends with the transaction, and a release costs a round trip.
        await self.connection.execute("SAVEPOINT part")
        try:
            yield
        except Exception:
            if not self.connection.is_closed():
                await self.connection.execute("ROLLBACK TO SAVEPOINT part")
            raise
