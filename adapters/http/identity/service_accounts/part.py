"""Use cases and controllers of service accounts."""

from dataclasses import dataclass

from adapters.http.identity.service_accounts.accounts import ServiceAccountsController
from adapters.http.identity.service_accounts.keys import ApiKeysController
from adapters.http.identity.service_accounts.token import MetadataController, TokenController
from application.identity.service_accounts.administration import ServiceAccountAdministration
from application.identity.service_accounts.client_credentials import ClientCredentials
from application.identity.service_accounts.key_authentication import KeyAuthentication
from application.identity.service_accounts.keys import KeyAdministration

CONTROLLERS = (
    ServiceAccountsController,
    ApiKeysController,
    TokenController,
    MetadataController,
)


@dataclass(frozen=True, kw_only=True)
class ServiceAccountUseCases:
    service_accounts: ServiceAccountAdministration
    api_keys: KeyAdministration
    client_credentials: ClientCredentials
    key_authentication: KeyAuthentication
