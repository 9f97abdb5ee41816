"""Use cases of service accounts that handlers call."""

from dataclasses import dataclass

from application.identity.service_accounts.administration import ServiceAccountAdministration
from application.identity.service_accounts.client_credentials import ClientCredentials
from application.identity.service_accounts.key_authentication import KeyAuthentication
from application.identity.service_accounts.keys import KeyAdministration


@dataclass(frozen=True, kw_only=True)
class ServiceAccountUseCases:
    service_accounts: ServiceAccountAdministration
    api_keys: KeyAdministration
    client_credentials: ClientCredentials
    key_authentication: KeyAuthentication
