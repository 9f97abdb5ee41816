"""Use cases of service accounts on their adapters, as the settings say."""

from datetime import timedelta
from typing import TypedDict

from application.identity.service_accounts.administration import ServiceAccountAdministration
from application.identity.service_accounts.client_credentials import ClientCredentials, TokenPolicy
from application.identity.service_accounts.key_authentication import KeyAuthentication
from application.identity.service_accounts.key_expiry import KeyExpiry
from application.identity.service_accounts.keys import KeyAdministration, KeyPolicy
from application.identity.service_accounts.last_uses import LastUses
from domain.identity.signing_keys import LEEWAY
from entrypoints.assembly.adapters import Adapters
from entrypoints.settings.settings import Settings


class ServiceAccountUseCases(TypedDict):
    """Use cases by their names in Services."""

    service_accounts: ServiceAccountAdministration
    api_keys: KeyAdministration
    key_authentication: KeyAuthentication
    client_credentials: ClientCredentials
    last_uses: LastUses
    key_expiry: KeyExpiry


def service_account_use_cases(adapters: Adapters, settings: Settings) -> ServiceAccountUseCases:
    database, clock, ids = adapters.database, adapters.clock, adapters.ids
    counts, enforced = settings.rate_limits != "off", settings.rate_limits == "on"
    last_uses = LastUses(database)
    # One for the whole process: handlers and client credentials share what is remembered of a key.
    authentication = KeyAuthentication(database, adapters.admissions, last_uses, counts, enforced)
    policy = TokenPolicy(
        issuer=settings.base_url,
        audience=settings.base_url,
        lifetime=timedelta(minutes=settings.service_token_minutes),
        leeway=LEEWAY,
        counts_limits=counts,
        enforced=enforced,
    )
    return ServiceAccountUseCases(
        service_accounts=ServiceAccountAdministration(database, adapters.revocations, clock, ids),
        api_keys=key_administration(adapters, settings),
        key_authentication=authentication,
        client_credentials=ClientCredentials(
            database, authentication, adapters.admissions, adapters.tokens, clock, ids, policy
        ),
        last_uses=last_uses,
        key_expiry=KeyExpiry(database, clock, ids),
    )


def key_administration(adapters: Adapters, settings: Settings) -> KeyAdministration:
    # 0 stands for no greatest lifetime.
    longest = timedelta(days=settings.api_key_max_days) if settings.api_key_max_days else None
    policy = KeyPolicy(prefix=settings.api_key_prefix, longest=longest)
    return KeyAdministration(adapters.database, adapters.revocations, adapters.clock, adapters.ids, policy)
