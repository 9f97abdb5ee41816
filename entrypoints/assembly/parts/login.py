"""Use cases of logins by password and at social providers, on adapters."""

from adapters.http.identity.login.part import LoginUseCases
from application.identity.hosted_login.targets import Targets
from application.identity.login.token_authentication import TokenAuthentication
from application.identity.social.social_accounts import SocialAccounts
from application.identity.social.social_redirect import SocialRedirect
from application.identity.social.social_sign_in import SocialSignIn
from entrypoints.assembly.adapters import Adapters
from entrypoints.assembly.parts.account import registration_of
from entrypoints.assembly.parts.shared import SharedObjects
from entrypoints.assembly.timed import TimedTokens
from entrypoints.settings.settings import Settings


def assemble_login(adapters: Adapters, settings: Settings, shared: SharedObjects) -> LoginUseCases:
    accounts = SocialAccounts(
        database=adapters.database,
        registration=registration_of(adapters, settings, shared),
        revocations=adapters.revocations,
        cache=adapters.cache,
        clock=adapters.clock,
        ids=adapters.ids,
    )
    redirect = SocialRedirect(
        database=adapters.database,
        providers=adapters.social,
        accounts=accounts,
        sign_in=shared.sign_in,
        tickets=adapters.tickets,
        targets=Targets(shared.applications),
        clock=adapters.clock,
        base_url=settings.base_url,
    )
    return LoginUseCases(
        sign_in=shared.sign_in,
        sign_out=shared.sign_out,
        renewal=shared.renewal,
        social_sign_in=SocialSignIn(adapters.social, accounts, shared.sign_in),
        social_redirect=redirect,
        token_authentication=(TimedTokens if settings.server_timing else TokenAuthentication)(adapters.tokens),
        keyring=adapters.keyring,
    )
