"""`/account/login`, `/account/register` and `/account/security`: pages that work with the public API."""

import html
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from litestar import Request, Response, Router, get
from litestar.types import ExceptionHandlersMap

from adapters.http.account.localized import POLICY, filled, language_for, policy_with
from adapters.http.account.page_query import query_of, read_target
from adapters.http.request.responses import Bytes
from adapters.http.request.rules import ORDINARY, PUBLIC, rules
from adapters.http.request.strict_request import StrictRequest
from adapters.http.static_files import HTML, NOTHING_MORE
from application.identity.account.registration import Registration
from application.identity.hosted_login.appearance import Appearance, Appearances, Logo
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
NO_TARGET = Target(app_id="", redirect="", challenge="")
SECURITY, INVITATION = "security", "invitation"

_NAMES = {"google": "Google", "microsoft": "Microsoft", "github": "GitHub", "facebook": "Facebook"}


@dataclass(frozen=True, kw_only=True)
class SignInPages:
    """The pages on which people sign in and make an account, in the branding of the application's tenant.

    ``service`` is the name of the service, ``has_console`` says whether there is a console to end at.
    """

    service: str
    targets: Targets
    appearances: Appearances
    registration: Registration
    social: SocialRedirect
    has_console: bool

    async def login(
        self, request: StrictRequest, target: Target | None, ends_at: str, root: str = ROOT, outcome: str = ""
    ) -> Bytes:
        """The page to sign in on; ``outcome`` is JSON of a login that has begun elsewhere and goes on here."""
        values, look = await self._values(target, root)
        words = words_of(language_for(request, look.language))
        values |= {"ends_at": ends_at, "outcome": outcome, "no_register": "" if self.is_open else "hidden"}
        links = _links(words, self.social.providers.redirecting, query_of(target), root)
        return _branded("account-login.html", words, values, look, {"providers": links})

    async def register(self, request: StrictRequest, target: Target | None) -> Bytes:
        values, look = await self._values(target, ROOT)
        words = words_of(language_for(request, look.language))
        values |= {
            "ends_at": self.home,
            "closed": "hidden" if self.is_open else "",
            "open": "" if self.is_open else "hidden",
        }
        return _branded("account-register.html", words, values, look)

    def security(self, request: StrictRequest) -> Bytes:
        values = {"service": self.service, "root": ROOT}
        return _page("account-security.html", words_of(language_for(request)), values)

    def refused(self, request: StrictRequest, error: Error, root: str) -> Bytes:
        """A page that says what is wrong, and leads nowhere."""
        words = words_of(language_for(request))
        values = {"service": self.service, "root": root, "text": _told(words, error)}
        return _page("account-refused.html", words, values, status=400)

    @property
    def is_open(self) -> bool:
        """Whether people make accounts by themselves."""
        return self.registration.policy.is_open

    @property
    def home(self) -> str:
        """Path, from the root, at which a login for no application ends."""
        return "console/" if self.has_console else f"account/{SECURITY}"

    async def _values(self, target: Target | None, root: str) -> tuple[dict[str, str], Appearance]:
        """Values that fill every page, and its appearance.

        Raises ValidationError for an application or an address that is none.
        """
        look, application = Appearance(name=self.service), ""
        if target is not None:
            registered = await self.targets.ensure(target)
            application, look = registered.name, await self.appearances.of(registered) or look
        shown = target or NO_TARGET
        values = {
            "service": look.name,
            "root": root,
            "application": application,
            "app": shown.app_id,
            "redirect": shown.redirect,
            "challenge": shown.challenge,
            "has_state": "" if shown.state is None else "yes",
            "state": shown.state or "",
            "query": query_of(target),
            "color": look.color or "",
            "text_color": look.text_color if look.color else "",
            "support": look.support_email or "",
        }
        return values, look


def sign_in_page_router(pages: SignInPages) -> Router:
    @get("/login", name="account.login")
    async def login(request: StrictRequest) -> Response[Any]:
        # A page of ours alone: what else is named here leads nowhere.
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
        # Other parameters are let through: links collect some on their way.
        opt=rules(policy=PUBLIC, limit=ORDINARY, any_query=True),
        exception_handlers=pages_for_errors(pages, ROOT),
    )


def pages_for_errors(pages: SignInPages, root: str) -> ExceptionHandlersMap:
    """Handlers of errors that answer a wrong link, application or address with a page; ``root`` leads to the root."""

    def refused(request: Request[Any, Any, Any], error: ValidationError) -> Response[Any]:
        # Litestar makes a plain request for a handler of errors
        return pages.refused(StrictRequest(request.scope), error, root)

    return {ValidationError: refused}


def _branded(
    name: str, words: Words, values: Mapping[str, str], look: Appearance, markup: Mapping[str, str] = NOTHING_MORE
) -> Bytes:
    """A page with the tenant's logo, where it has one."""
    page = _page(name, words, values, markup={**markup, "logo": _picture(look.logo) if look.logo else ""})
    if look.logo is not None:
        page.headers["content-security-policy"] = policy_with(look.logo.source)
    return page


def _picture(logo: Logo) -> str:
    """The logo as markup."""
    # Its text is empty: the name stands below it, and would be read out twice.
    return (
        f'<img class="logo" src="{html.escape(logo.address)}" alt="" width="192" height="48" '
        'referrerpolicy="no-referrer" decoding="async">'
    )


def _page(
    name: str, words: Words, values: Mapping[str, str], status: int = 200, markup: Mapping[str, str] = NOTHING_MORE
) -> Bytes:
    return Bytes(filled(name, words, values, markup), HTML, status, HEADERS)


def _told(words: Words, error: Error) -> str:
    """Sentence that says what is wrong, in the language of the page."""
    wrong = [
        words.text(
            "say.field",
            {
                "field": words.texts.get(f"field.{field.field}", field.field),
                "message": words.answer(field.message) or words.text("say.invalid"),
            },
        )
        for field in error.fields
    ]
    return " ".join(wrong) or words.answer(error.message) or words.text("say.failed")


def _links(words: Words, providers: Collection[str], query: str, root: str) -> str:
    """A link to each provider, as markup."""
    links = (
        f'<a class="provider" href="{html.escape(f"{root}api/auth/social/{name}/start{query}")}">'
        f"{html.escape(words.text('login.provider', {'provider': _NAMES.get(name, name)}))}</a>"
        for name in providers
    )
    return "\n".join(links)
