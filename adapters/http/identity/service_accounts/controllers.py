"""Controllers of service accounts."""

from adapters.http.identity.service_accounts.accounts import ServiceAccountsController
from adapters.http.identity.service_accounts.keys import ApiKeysController
from adapters.http.identity.service_accounts.token import MetadataController, TokenController

CONTROLLERS = (
    ServiceAccountsController,
    ApiKeysController,
    TokenController,
    MetadataController,
)
