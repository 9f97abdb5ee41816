"""Target of a hosted login: an application, one of its addresses, and the challenge of the client that began it."""

from dataclasses import dataclass

from msgspec import Struct

from application.identity.login.applications import RegisteredApplications
from application.ports.identity.applications import ClientApplication
from domain.errors import ValidationError
from domain.identity.redirects import LONGEST_STATE, is_challenge, redirect_mistake


class Target(Struct, frozen=True, kw_only=True):
    """An application and one of its addresses, which get a login, with the challenge of whoever began the login.

    ``state`` is the application's own text, which the application gets back; None where it sent none.
    """

    app_id: str
    redirect: str
    challenge: str
    state: str | None = None


@dataclass(frozen=True)
class Targets:
    applications: RegisteredApplications

    async def ensure(self, target: Target) -> ClientApplication:
        """The application.

        Raises ValidationError on ``app``, ``redirect``, ``codeChallenge`` or ``state``. Nothing may be sent to the
        address, not even an error, once one of the first two is wrong.
        """
        application = await self.applications.by_id(target.app_id)
        if application is None or not application.is_active:
            raise ValidationError.on("app", "is no application that is registered here and open")
        # Security: compared exactly, so that no spelling of a registered address leads anywhere else. Rows that did
        # not come through the API are judged as well.
        is_registered = target.redirect in (application.redirect_urls or ())
        if not is_registered or redirect_mistake(target.redirect) is not None:
            raise ValidationError.on("redirect", "is none of the application's redirectUrls; they are compared exactly")
        if not is_challenge(target.challenge):
            raise ValidationError.on("codeChallenge", "takes an S256 challenge of 43 characters (RFC 7636)")
        # In bytes: a cookie holds it while its owner is at a provider, and browsers keep 4 kB.
        if target.state is not None and len(target.state.encode("utf-8", "replace")) > LONGEST_STATE:
            raise ValidationError.on("state", f"takes {LONGEST_STATE} bytes at most")
        # RFC 6749, A.5, has none of them. Each would take six bytes in the cookie.
        if target.state is not None and any(char < " " for char in target.state):
            raise ValidationError.on("state", "takes no control characters")
        return application
