"""Use cases of logins that handlers call."""

from dataclasses import dataclass

from application.identity.login.renewal import SessionRenewal
from application.identity.login.sign_in import SignIn
from application.identity.login.sign_out import SignOut
from application.identity.login.token_authentication import TokenAuthentication
from application.identity.social.social_redirect import SocialRedirect
from application.identity.social.social_sign_in import SocialSignIn
from application.ports.identity.signing_keys import Keyring


@dataclass(frozen=True, kw_only=True)
class LoginUseCases:
    sign_in: SignIn
    sign_out: SignOut
    renewal: SessionRenewal
    social_sign_in: SocialSignIn
    social_redirect: SocialRedirect
    token_authentication: TokenAuthentication
    keyring: Keyring
