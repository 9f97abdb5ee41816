"""Use cases of service accounts on their adapters, as the settings say."""

from dataclasses import dataclass
from datetime import timedelta

from adapters.http.identity.service_accounts.part import ServiceAccountUseCases
from application.identity.service_accounts.administration import ServiceAccountAdministration
from application.identity.service_accounts.client_credentials import ClientCredentials, TokenPolicy
from application.identity.service_accounts.key_authentication import KeyAuthentication
from application.identity.service_accounts.key_expiry import KeyExpiry
from application.identity.service_accounts.keys import KeyAdministration, KeyPolicy
from application.identity.service_accounts.last_uses import LastUses
from domain.identity.tokens import LEEWAY
from entrypoints.assembly.adapters import Adapters
from entrypoints.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class ServiceAccountServices(ServiceAccountUseCases):
    last_uses: LastUses
    key_expiry: KeyExpiry


def assemble_service_accounts(adapters: Adapters, settings: Settings) -> ServiceAccountServices:
    database, clock, ids = adapters.database, adapters.clock, adapters.ids
    counts, enforced = settings.rate_limits != "off", settings.rate_limits == "on"
    last_uses = LastUses(database)
    # One per process: handlers and client credentials share cached keys.
    authentication = KeyAuthentication(database, adapters.admissions, last_uses, counts, enforced)
    policy = TokenPolicy(
        issuer=settings.base_url,
        audience=settings.base_url,
        lifetime=timedelta(minutes=settings.service_token_minutes),
        leeway=LEEWAY,
        counts_limits=counts,
        enforced=enforced,
    )
    return ServiceAccountServices(
        service_accounts=ServiceAccountAdministration(database, adapters.revocations, clock, ids),
        api_keys=_key_administration(adapters, settings),
        key_authentication=authentication,
        client_credentials=ClientCredentials(
            database, authentication, adapters.admissions, adapters.tokens, clock, ids, policy
        ),
        last_uses=last_uses,
        key_expiry=KeyExpiry(database, clock, ids),
    )


def _key_administration(adapters: Adapters, settings: Settings) -> KeyAdministration:
    # In the setting, 0 means that keys have no maximum lifetime.
    longest = timedelta(days=settings.api_key_max_days) if settings.api_key_max_days else None
    policy = KeyPolicy(prefix=settings.api_key_prefix, longest=longest)
    return KeyAdministration(adapters.database, adapters.revocations, adapters.clock, adapters.ids, policy)
