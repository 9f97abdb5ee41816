"""Use cases and controllers of logins."""

from dataclasses import dataclass

from adapters.http.identity.login.auth import AuthController
from adapters.http.identity.login.keys import KeysController
from adapters.http.identity.login.renewal import RenewalController
from adapters.http.identity.login.social import SocialController
from application.identity.login.renewal import SessionRenewal
from application.identity.login.sign_in import SignIn
from application.identity.login.sign_out import SignOut
from application.identity.login.token_authentication import TokenAuthentication
from application.identity.social.social_redirect import SocialRedirect
from application.identity.social.social_sign_in import SocialSignIn
from application.ports.identity.signing_keys import Keyring

CONTROLLERS = (
    AuthController,
    RenewalController,
    SocialController,
    KeysController,
)


@dataclass(frozen=True, kw_only=True)
class LoginUseCases:
    sign_in: SignIn
    sign_out: SignOut
    renewal: SessionRenewal
    social_sign_in: SocialSignIn
    social_redirect: SocialRedirect
    token_authentication: TokenAuthentication
    keyring: Keyring
