"""Use cases of service accounts on their adapters, as the settings say."""

from datetime import timedelta

from adapters.http.use_cases import ServiceAccountUseCases
from application.identity.service_accounts.administration import ServiceAccountAdministration
from application.identity.service_accounts.client_credentials import ClientCredentials, TokenPolicy
from application.identity.service_accounts.key_authentication import KeyAuthentication
from application.identity.service_accounts.keys import KeyAdministration, KeyPolicy
from application.identity.service_accounts.last_uses import LastUses
from domain.identity.signing_keys import LEEWAY
from entrypoints.composition import Adapters
from entrypoints.settings.settings import Settings


def service_account_use_cases(adapters: Adapters, settings: Settings, last_uses: LastUses) -> ServiceAccountUseCases:
    database, clock, ids = adapters.database, adapters.clock, adapters.ids
    counts, enforced = settings.rate_limits != "off", settings.rate_limits == "on"
    # One for the whole process: handlers and client credentials share what is remembered of a key.
    authentication = KeyAuthentication(database, adapters.admissions, last_uses, counts, enforced)
    return ServiceAccountUseCases(
        administration=ServiceAccountAdministration(database, adapters.revocations, clock, ids),
        keys=key_administration(adapters, settings),
        authentication=authentication,
        credentials=ClientCredentials(
            database,
            authentication,
            adapters.admissions,
            adapters.tokens,
            clock,
            ids,
            TokenPolicy(
                issuer=settings.base_url,
                audience=settings.base_url,
                lifetime=timedelta(minutes=settings.service_token_minutes),
                leeway=LEEWAY,
                counts_limits=counts,
                enforced=enforced,
            ),
        ),
    )


def key_administration(adapters: Adapters, settings: Settings) -> KeyAdministration:
    # 0 stands for no greatest lifetime.
    longest = timedelta(days=settings.api_key_max_days) if settings.api_key_max_days else None
    policy = KeyPolicy(prefix=settings.api_key_prefix, longest=longest)
    return KeyAdministration(adapters.database, adapters.revocations, adapters.clock, adapters.ids, policy)
