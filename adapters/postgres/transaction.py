"""The ports of one connection: those of all parts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.postgres.entities.ports import PostgresEntityPorts
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
    PostgresOperationPorts,
):
    """Every part of the database on one connection."""

    __slots__ = ()

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        # ends with the transaction, or hides below the next one: to release it would be a round trip for nothing
        await self.connection.execute("SAVEPOINT part")
        try:
            yield
        except Exception:
            if not self.connection.is_closed():
                await self.connection.execute("ROLLBACK TO SAVEPOINT part")
            raise
