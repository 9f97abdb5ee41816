"""Ports of webhooks."""

from adapters.postgres.context import PostgresContext
from adapters.postgres.entities.webhooks.deliveries import PostgresDeliveries
from adapters.postgres.entities.webhooks.webhooks import PostgresWebhooks
from adapters.postgres.identity.listings import TABLES
from adapters.postgres.statements.aged_rows import Retained, removing
from domain.parts.webhooks import DELIVERIES


class PostgresWebhookPorts(PostgresContext):
    __slots__ = ()

    @property
    def webhooks(self) -> PostgresWebhooks:
        return PostgresWebhooks(self.connection)

    @property
    def webhooks_of_all_tenants(self) -> PostgresWebhooks:
        return PostgresWebhooks(self.connection)

    @property
    def deliveries(self) -> PostgresDeliveries:
        return PostgresDeliveries(self.connection, self.scope)


RETAINED: Retained = {DELIVERIES: removing(TABLES["webhook_deliveries"], TABLES["webhook_deliveries"].c.created_at)}
