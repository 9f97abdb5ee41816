"""Target of a hosted login: an application, its address, and the challenge of the client that began the login."""

from dataclasses import dataclass

from msgspec import Struct

from application.identity.login.applications import RegisteredApplications
from application.ports.identity.applications import ClientApplication
from domain.errors import ValidationError
from domain.identity.redirects import LONGEST_STATE, is_challenge, redirect_mistake


class Target(Struct, frozen=True, kw_only=True):
    """Application and redirect address of a login, with the login's challenge.

    ``state`` is a text of the application that the service returns to it; None without such a text.
    """

    app_id: str
    redirect: str
    challenge: str
    state: str | None = None


@dataclass(frozen=True)
class Targets:
    applications: RegisteredApplications

    async def ensure(self, target: Target) -> ClientApplication:
        """Return the application.

        Raises ValidationError on ``app``, ``redirect``, ``codeChallenge`` or ``state``. If one of the first two is
        wrong, the service must not send anything to the address, not even an error.
        """
        application = await self.applications.by_id(target.app_id)
        if application is None or not application.is_active:
            raise ValidationError.on("app", "is not a registered, active application")
        # Security: compare exactly, so that no spelling of a registered address leads elsewhere. Also check rows not
        # written by the API.
        is_registered = target.redirect in (application.redirect_urls or ())
        if not is_registered or redirect_mistake(target.redirect) is not None:
            raise ValidationError.on("redirect", "is none of the application's redirectUrls; they are compared exactly")
        if not is_challenge(target.challenge):
            raise ValidationError.on("codeChallenge", "must be an S256 challenge of 43 characters (RFC 7636)")
        # Limit the bytes: a cookie stores the state during the login at a provider, and browsers limit a cookie to 4
        # kB.
        if target.state is not None and len(target.state.encode("utf-8", "replace")) > LONGEST_STATE:
            raise ValidationError.on("state", f"must not exceed {LONGEST_STATE} bytes")
        # RFC 6749, A.5, forbids them, and each needs six bytes in the cookie.
        if target.state is not None and any(char < " " for char in target.state):
            raise ValidationError.on("state", "must not contain control characters")
        return application
