"""Controllers of logins."""

from adapters.http.identity.login.auth import AuthController
from adapters.http.identity.login.keys import KeysController
from adapters.http.identity.login.renewal import RenewalController
from adapters.http.identity.login.social import SocialController

CONTROLLERS = (
    AuthController,
    RenewalController,
    SocialController,
    KeysController,
)
