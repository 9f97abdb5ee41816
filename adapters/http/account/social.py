"""`/api/auth/social/{provider}`: sends a browser to a provider and receives the provider's code."""

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
"""The service's root, relative to the callback address of a provider."""


def state_cookie(base_url: str) -> HostCookie:
    """Return the cookie that binds a login at a provider to its browser."""
    # Lax: the browser returns from another site by navigation.
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
        """Complete a login at a provider; read only ``code`` and ``state``."""
        given = dict(reversed(request.parameters()))
        ticket, state = self.state.read(request), given.get("state", "")
        begun = await self.redirect.returned(provider, ticket, state)
        try:
            result = await self.redirect.login(begun, given.get("code", ""), request.from_client)
        except Error as refusal:
            # The login page shows the error or asks for the second factor.
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
        data = msgspec.to_builtins(result)
        cookie = self.session.kept(data.pop(REFRESH_TOKEN))
        page = await self._page(request, begun, {"data": data})
        page.headers["set-cookie"] = cookie
        return page

    async def _page(self, request: StrictRequest, begun: BegunLogin, outcome: object) -> Bytes:
        """Raises ValidationError for an application or address removed in the meantime."""
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
