"""Use cases and controllers of the sign-in pages."""

from dataclasses import dataclass

from adapters.http.identity.hosted_login.codes import LoginCodesController
from application.identity.hosted_login.appearance import Appearances
from application.identity.hosted_login.login_codes import LoginCodes
from application.identity.hosted_login.targets import Targets

CONTROLLERS = (LoginCodesController,)


@dataclass(frozen=True, kw_only=True)
class HostedLoginUseCases:
    login_codes: LoginCodes
    targets: Targets
    appearances: Appearances
