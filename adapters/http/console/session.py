"""`/console/session`: like `/api/auth`, but with the refresh token in a cookie."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from litestar import Response, Router, delete, post
from litestar.params import JSONBody
from msgspec import Struct
from msgspec.structs import replace

from adapters.http.console.pages import ROOT, Console
from adapters.http.console.same_origin import same_origin
from adapters.http.console.session_cookie import SessionCookie
from adapters.http.request.rules import ORDINARY, PEOPLE, PUBLIC, rules
from adapters.http.request.strict_request import StrictRequest
from adapters.http.use_cases import UseCases
from application.identity.factors.forms import EnrolFinishForm, VerifyForm
from application.identity.factors.passkey_login import PasskeyLoginForm
from application.identity.factors.reauthentication import ReauthenticationForm
from application.identity.joining.acceptance import AcceptForm
from application.identity.login.forms import LoginForm, RefreshForm
from domain.errors import FieldError, ValidationError
from domain.forms import read_form
from domain.limits import LOGIN

WAY = "with"

Way = Callable[[StrictRequest, Mapping[str, object]], Awaitable[Struct]]
"""A sign-in method: maps the body of its public endpoint to that endpoint's result."""


class TenantToRefresh(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a refresh of the console's session.

    ``tenant_id`` is the tenant of the new tokens, by default the session's own.
    """

    tenant_id: UUID | None = None


def session_router(services: UseCases, console: Console) -> Router:
    """Return the router of the console's private routes, outside the public API and its document."""
    cookie, ways = SessionCookie(console), _ways(services)

    @post("/", name="console.sign-in", opt=rules(policy=PUBLIC, limit=LOGIN, by_email=True), status_code=200)
    async def sign_in(request: StrictRequest) -> Response[Any]:
        body = await request.read_object()
        way = body.get(WAY)
        if not isinstance(way, str) or way not in ways:
            raise ValidationError(fields=[FieldError(WAY, f"must be one of: {', '.join(ways)}")])
        return cookie.answer(await ways[way](request, {name: body[name] for name in body if name != WAY}))

    @post("/refresh", name="console.refresh", opt=rules(policy=PUBLIC), status_code=200)
    async def refresh(request: StrictRequest, data: JSONBody[TenantToRefresh]) -> Response[Any]:
        form = RefreshForm(refresh_token=cookie.token(request), tenant_id=data.tenant_id)
        return cookie.answer(await services.renewal.refresh(form, request.from_client))

    @post("/reauthenticate", name="console.reauthenticate", opt=rules(policy=PEOPLE), status_code=200)
    async def reauthenticate(request: StrictRequest, data: JSONBody[ReauthenticationForm]) -> Response[Any]:
        return cookie.answer(await services.reauthentication.show(request.caller, data, request.from_client))

    @delete("/", name="console.sign-out", opt=rules(policy=PUBLIC), status_code=200)
    async def sign_out(request: StrictRequest) -> Response[Any]:
        await services.sign_out.end(cookie.token(request), request.from_client)
        return cookie.ended()

    return Router(
        f"{ROOT}/session",
        route_handlers=[sign_in, refresh, reauthenticate, sign_out],
        guards=[same_origin(console.base_url)],
        include_in_schema=False,
        opt=rules(area="A", limit=ORDINARY, any_query=False),
    )


def _ways(services: UseCases) -> Mapping[str, Way]:
    """Sign-in methods by the value of ``with``."""

    async def by_password(request: StrictRequest, body: Mapping[str, object]) -> Struct:
        form = read_form(LoginForm, body)
        app_id = request.requested_app_id(form.requested_app_id)
        return await services.sign_in.login(replace(form, requested_app_id=app_id), request.from_client)

    async def by_invitation(request: StrictRequest, body: Mapping[str, object]) -> Struct:
        """Create an account by an invitation's link; existing accounts join by the public endpoint."""
        app_id = request.requested_app_id()
        return await services.acceptance.register(read_form(AcceptForm, body), app_id, request.from_client)

    async def by_factor(request: StrictRequest, body: Mapping[str, object]) -> Struct:
        return await services.second_factor.verify(read_form(VerifyForm, body), request.from_client)

    async def by_enrolment(request: StrictRequest, body: Mapping[str, object]) -> Struct:
        form = read_form(EnrolFinishForm, body)
        return await services.second_factor.finish_enrolment(form, request.from_client)

    async def by_passkey(request: StrictRequest, body: Mapping[str, object]) -> Struct:
        form = read_form(PasskeyLoginForm, body)
        app_id = request.requested_app_id(form.requested_app_id)
        return await services.passkey_login.finish(replace(form, requested_app_id=app_id), request.from_client)

    return {
        "password": by_password,
        "mfa": by_factor,
        "enrol": by_enrolment,
        "passkey": by_passkey,
        "invitation": by_invitation,
    }
