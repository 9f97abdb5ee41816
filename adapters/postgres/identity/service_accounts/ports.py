"""Ports of service accounts."""

from sqlalchemy import func

from adapters.postgres.context import PostgresContext
from adapters.postgres.identity.listings import TABLES
from adapters.postgres.identity.service_accounts.accounts import PostgresServiceAccounts
from adapters.postgres.identity.service_accounts.keys import PostgresApiKeys
from adapters.postgres.statements.aged_rows import Retained, removing
from domain.parts.service_accounts import API_KEYS


class PostgresServiceAccountPorts(PostgresContext):
    __slots__ = ()

    @property
    def service_accounts(self) -> PostgresServiceAccounts:
        return PostgresServiceAccounts(self.connection)

    @property
    def api_keys(self) -> PostgresApiKeys:
        return PostgresApiKeys(self.connection)


_KEYS = TABLES["api_keys"]

RETAINED: Retained = {API_KEYS: removing(_KEYS, func.least(_KEYS.c.ended_at, _KEYS.c.expires_at))}
