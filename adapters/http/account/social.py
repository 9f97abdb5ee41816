"""`/api/auth/social/{provider}`: a browser leaves for a provider, and comes back with the provider's code."""

from dataclasses import dataclass
from typing import Any

import msgspec
from litestar import Response, Router, get
from litestar.params import FromPath

from adapters.http.account.page_query import read_target
from adapters.http.account.pages import SignInPages, pages_for_errors
from adapters.http.console.session_cookie import REFRESH_TOKEN, SessionCookie
from adapters.http.request.errors import error_body
from adapters.http.request.host_cookie import HostCookie
from adapters.http.request.responses import NO_STORE, Bytes, NoBody
from adapters.http.request.rules import ORDINARY, PUBLIC, rules
from adapters.http.request.strict_request import StrictRequest
from application.identity.hosted_login.login_codes import LoginCodes
from application.identity.hosted_login.targets import Target
from application.identity.login.forms import LoginResult
from application.identity.social.social_redirect import LIVES, BegunLogin, SocialRedirect
from application.ports.identity.sessions import Tokens
from domain.errors import Error, InvalidCredentials
from domain.identity.redirects import answered

ROOT = "../../../../"
"""The service's root, from the address that a provider sends browsers to."""


def state_cookie(base_url: str) -> HostCookie:
    """The cookie that binds a login at a provider to the browser in which it began."""
    # Lax: the browser comes back from another site, by an address in its own bar
    return HostCookie("tenantry-social", base_url, "Lax", LIVES)


@dataclass(frozen=True, kw_only=True)
class SocialPages:
    redirect: SocialRedirect
    codes: LoginCodes
    tokens: Tokens
    pages: SignInPages
    state: HostCookie
    session: SessionCookie

    async def start(self, request: StrictRequest, provider: str) -> Response[Any]:
        departure = await self.redirect.begin(provider, read_target(request))
        return NoBody(302, {**NO_STORE, "location": departure.address, "set-cookie": self.state.kept(departure.ticket)})

    async def callback(self, request: StrictRequest, provider: str) -> Response[Any]:
        """Only ``code`` and ``state`` are read: whatever else a provider adds decides nothing."""
        given = dict(reversed(request.parameters()))
        ticket, state = self.state.read(request), given.get("state", "")
        begun = await self.redirect.returned(provider, ticket, state)
        try:
            result = await self.redirect.login(begun, given.get("code", ""), request.from_client)
        except Error as refusal:
            # The login page says why, or goes on with the second factor.
            return await self._page(request, begun, _told(refusal, given))
        if begun.target is None:
            return await self._to_the_console(request, begun, result)
        if result.requires_tenant_selection:
            return await self._page(request, begun, {"data": result})
        return self._to_the_application(request, begun.target, result)

    def _to_the_application(self, request: StrictRequest, target: Target, result: LoginResult) -> Response[Any]:
        session_id = self.tokens.read(result.token, request.at).sid
        code = self.codes.seal(session_id, target).code
        location = answered(target.redirect, code, target.state)
        return NoBody(302, {**NO_STORE, "location": location, "set-cookie": self.state.without()})

    async def _to_the_console(self, request: StrictRequest, begun: BegunLogin, result: LoginResult) -> Response[Any]:
        """The session becomes the browser's cookie; the page notes that there is one, and goes on by itself."""
        data = msgspec.to_builtins(result)
        cookie = self.session.kept(data.pop(REFRESH_TOKEN))
        page = await self._page(request, begun, {"data": data})
        page.headers["set-cookie"] = cookie
        return page

    async def _page(self, request: StrictRequest, begun: BegunLogin, outcome: object) -> Bytes:
        """Raises ValidationError where the application was closed meanwhile, or its address taken out."""
        return await self.pages.login(request, begun.target, self.pages.home, ROOT, outcome)


def social_page_router(social: SocialPages) -> Router:
    @get("/start", name="account.social-start", status_code=302)
    async def start(request: StrictRequest, provider: FromPath[str]) -> Response[Any]:
        return await social.start(request, provider)

    @get("/callback", name="account.social-callback")
    async def callback(request: StrictRequest, provider: FromPath[str]) -> Response[Any]:
        return await social.callback(request, provider)

    return Router(
        "/api/auth/social/{provider:str}",
        route_handlers=[start, callback],
        include_in_schema=False,
        opt=rules(area="A", policy=PUBLIC, limit=ORDINARY, any_query=True),
        exception_handlers=pages_for_errors(social.pages, ROOT),
    )


def _told(refusal: Error, given: dict[str, str]) -> Any:
    if "error" in given and "code" not in given:
        refusal = InvalidCredentials("The login with the provider was not finished.")
    return error_body(refusal)
