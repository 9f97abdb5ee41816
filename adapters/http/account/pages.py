"""`/account/login`, `/account/register` and `/account/security`: pages on top of the public API."""

from dataclasses import dataclass
from typing import Any

from litestar import Request, Response, Router, get
from litestar.types import ExceptionHandlersMap

from adapters.http.account.localized import (
    POLICY,
    ShownPage,
    ShownTarget,
    language_for,
    page_of,
    policy_with,
    refusal_of,
)
from adapters.http.account.page_query import query_of, read_target
from adapters.http.request.responses import Bytes
from adapters.http.request.rules import ORDINARY, PUBLIC, rules
from adapters.http.request.strict_request import StrictRequest
from adapters.http.static_files import HTML
from application.identity.account.registration import Registration
from application.identity.hosted_login.appearance import Appearance, Appearances
from application.identity.hosted_login.targets import Target, Targets
from application.identity.social.social_redirect import SocialRedirect
from domain.errors import Error, ValidationError
from domain.words.words import Words, words_of

HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
ROOT = "../"
SECURITY, INVITATION = "security", "invitation"

_NAMES = {"google": "Google", "microsoft": "Microsoft", "github": "GitHub", "facebook": "Facebook"}


@dataclass(frozen=True, kw_only=True)
class SignInPages:
    """Sign-in and registration pages, in the branding of the application's tenant.

    ``service`` is the name of the service; with ``has_console``, a login may end at the console.
    """

    service: str
    targets: Targets
    appearances: Appearances
    registration: Registration
    social: SocialRedirect
    has_console: bool

    async def login(
        self, request: StrictRequest, target: Target | None, ends_at: str, root: str = ROOT, outcome: object = None
    ) -> Bytes:
        """Return the login page; ``outcome`` is the result of a login at a social provider."""
        providers = self.social.providers.redirecting
        shown = tuple({"name": name, "title": _NAMES.get(name, name)} for name in providers)
        return await self._branded(
            request, target, root, name="login", ends_at=ends_at, outcome=outcome, providers=shown
        )

    async def register(self, request: StrictRequest, target: Target | None) -> Bytes:
        return await self._branded(request, target, ROOT, name="register", ends_at=self.home)

    def security(self, request: StrictRequest) -> Bytes:
        page = ShownPage(name=SECURITY, service=self.service)
        return _answer(page_of(page, words_of(language_for(request)), ROOT))

    def refused(self, request: StrictRequest, error: Error, root: str) -> Bytes:
        """Return a page that only shows an error."""
        words = words_of(language_for(request))
        return _answer(refusal_of(self.service, _told(words, error), words, root), status=400)

    @property
    def is_open(self) -> bool:
        """Whether people may register without an invitation."""
        return self.registration.policy.is_open

    @property
    def home(self) -> str:
        """Path from the root to redirect to after a login without an application."""
        return "console/" if self.has_console else f"account/{SECURITY}"

    async def _branded(self, request: StrictRequest, target: Target | None, root: str, **more: Any) -> Bytes:
        """A page with the application's branding.

        Raises ValidationError for an unknown application or address.
        """
        look, shown = Appearance(name=self.service), None
        if target is not None:
            registered = await self.targets.ensure(target)
            look = await self.appearances.of(registered) or look
            shown = ShownTarget(
                app=target.app_id,
                name=registered.name,
                redirect=target.redirect,
                challenge=target.challenge,
                state=target.state,
            )
        page = ShownPage(
            service=look.name,
            target=shown,
            query=query_of(target),
            is_open=self.is_open,
            logo=look.logo.address if look.logo else None,
            color=look.color,
            text_color=look.text_color if look.color else None,
            support=look.support_email,
            **more,
        )
        answer = _answer(page_of(page, words_of(language_for(request, look.language)), root))
        if look.logo is not None:
            answer.headers["content-security-policy"] = policy_with(look.logo.source)
        return answer


def sign_in_page_router(pages: SignInPages) -> Router:
    @get("/login", name="account.login")
    async def login(request: StrictRequest) -> Response[Any]:
        # Security: accept only the service's pages.
        wanted = [page for page in (SECURITY, INVITATION) if ("then", page) in request.parameters()]
        return await pages.login(request, read_target(request), f"account/{wanted[0]}" if wanted else pages.home)

    @get("/register", name="account.register")
    async def register(request: StrictRequest) -> Response[Any]:
        return await pages.register(request, read_target(request))

    @get(f"/{SECURITY}", name="account.security")
    async def security(request: StrictRequest) -> Response[Any]:
        return pages.security(request)

    return Router(
        "/account",
        route_handlers=[login, register, security],
        include_in_schema=False,
        # Accept unknown parameters, because other programs add parameters to links.
        opt=rules(policy=PUBLIC, limit=ORDINARY, any_query=True),
        exception_handlers=pages_for_errors(pages, ROOT),
    )


def pages_for_errors(pages: SignInPages, root: str) -> ExceptionHandlersMap:
    """Return handlers that answer a wrong link, application or address; ``root`` leads to the service's root."""

    def refused(request: Request[Any, Any, Any], error: ValidationError) -> Response[Any]:
        # Litestar passes a plain request to an error handler.
        return pages.refused(StrictRequest(request.scope), error, root)

    return {ValidationError: refused}


def _answer(markup: bytes, status: int = 200) -> Bytes:
    return Bytes(markup, HTML, status, HEADERS)


def _told(words: Words, error: Error) -> str:
    """Error message in the page's language."""
    wrong = [
        words.text(
            "field.is",
            {
                "field": words.texts.get(f"field.{field.field}", field.field),
                "message": words.answer(field.message) or words.text("field.invalid"),
            },
        )
        for field in error.fields
    ]
    return " ".join(wrong) or words.answer(error.message) or words.text("failed.title")
