"""Use cases of the sign-in pages that handlers call."""

from dataclasses import dataclass

from application.identity.hosted_login.appearance import Appearances
from application.identity.hosted_login.login_codes import LoginCodes
from application.identity.hosted_login.targets import Targets


@dataclass(frozen=True, kw_only=True)
class HostedLoginUseCases:
    login_codes: LoginCodes
    targets: Targets
    appearances: Appearances
