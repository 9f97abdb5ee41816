"""Ports of service accounts."""

from adapters.postgres.context import PostgresContext
from adapters.postgres.identity.service_accounts.accounts import PostgresServiceAccounts
from adapters.postgres.identity.service_accounts.keys import PostgresApiKeys


class PostgresServiceAccountPorts(PostgresContext):
    __slots__ = ()

    @property
    def service_accounts(self) -> PostgresServiceAccounts:
        return PostgresServiceAccounts(self.connection)

    @property
    def api_keys(self) -> PostgresApiKeys:
        return PostgresApiKeys(self.connection)
