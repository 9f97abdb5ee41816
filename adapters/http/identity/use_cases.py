"""Use cases of all parts of identity."""

from dataclasses import dataclass

from adapters.http.identity.account.part import AccountUseCases
from adapters.http.identity.administration.part import AdministrationUseCases
from adapters.http.identity.factors.part import FactorUseCases
from adapters.http.identity.hosted_login.part import HostedLoginUseCases
from adapters.http.identity.joining.part import JoiningUseCases
from adapters.http.identity.login.part import LoginUseCases
from adapters.http.identity.self_service.part import SelfServiceUseCases
from adapters.http.identity.service_accounts.part import ServiceAccountUseCases


@dataclass(frozen=True, kw_only=True)
class IdentityUseCases(
    AccountUseCases,
    LoginUseCases,
    FactorUseCases,
    HostedLoginUseCases,
    SelfServiceUseCases,
    AdministrationUseCases,
    JoiningUseCases,
    ServiceAccountUseCases,
):
    """Use cases of all parts. A handler receives a use case as the argument of the same name."""
