"""The service's table of contents, and the ASGI application that serves it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Protocol

from adapters.http.docs.account_pages import page_endpoints
from adapters.http.docs.encrypted_passwords import encrypted_passwords_endpoints
from adapters.http.docs.openapi import description
from adapters.http.docs.page import About, docs_endpoints
from adapters.http.entities.batches import KeepingBatches, batches_endpoints
from adapters.http.entities.histories import KeepingHistories, histories_endpoints
from adapters.http.entities.rows import KeepingRows, entities_endpoints
from adapters.http.entities.transfers import Transferring, transfers_endpoints
from adapters.http.identity.accounts import Holding, account_endpoints
from adapters.http.identity.auth import SigningIn, auth_endpoints
from adapters.http.identity.keys import Publishing, key_endpoints
from adapters.http.identity.me import Knowing, me_endpoints
from adapters.http.identity.memberships import KeepingMemberships, membership_endpoints
from adapters.http.identity.registration import Registering, registration_endpoints
from adapters.http.identity.roles import KeepingRoles, role_endpoints
from adapters.http.identity.sessions import KeepingSessions, session_endpoints
from adapters.http.identity.social import SigningInElsewhere, social_endpoints
from adapters.http.identity.tenants import KeepingTenants, tenant_endpoints
from adapters.http.identity.users import KeepingUsers, user_endpoints
from adapters.http.operations.access_log import AccessLine, AccessLog, log_access
from adapters.http.operations.health import Standing, health_endpoints
from adapters.http.operations.metrics import Counted, Metrics, metrics_endpoints
from adapters.http.operations.server_timing import TimedDoor, timed, timed_pipeline
from adapters.http.request.bearer import Security, Verifying
from adapters.http.request.client_address import Network
from adapters.http.request.door import Door, area_of
from adapters.http.request.endpoint import Endpoint
from adapters.http.request.errors import error_answer
from adapters.http.request.framework import (
    HTTPException,
    Lifespan,
    Litestar,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    asgi,
    framework,
)
from adapters.http.request.pipeline import Guarding, Pipeline
from adapters.http.request.routes import Routes
from domain.errors import BadRequest, Error, NotFound

_PLAIN_HOST = re.compile(rb"[0-9A-Za-z.:\-]*")


class Services(
    SigningIn,
    SigningInElsewhere,
    Registering,
    Holding,
    KeepingSessions,
    Knowing,
    KeepingUsers,
    KeepingRoles,
    KeepingTenants,
    KeepingMemberships,
    KeepingRows,
    KeepingBatches,
    KeepingHistories,
    Transferring,
    Publishing,
    Standing,
    Guarding,
    Verifying,
    Protocol,
):
    """What the doors are opened to; whoever wires the program has one that fits."""


OwnEndpoints = Callable[[Services], Sequence[Endpoint]]
"""What a user's own file adds to the table, given the use cases."""


@dataclass(frozen=True, kw_only=True)
class HttpSettings:
    """``counts_limits`` False leaves rate limits out; whether they refuse is the throttle's to know.

    ``server_timing`` puts a watch around every stage, and what it says into the answers.
    """

    about: About = field(default_factory=About)
    trusted_proxies: tuple[Network, ...] = ()
    counts_limits: bool = True
    server_timing: bool = False
    log: AccessLog = log_access
    metrics_token: str | None = field(default=None, repr=False)
    own: tuple[OwnEndpoints, ...] = ()


def api_endpoints(services: Services, own: Sequence[OwnEndpoints] = ()) -> list[Endpoint]:
    """Everything that the description describes."""
    return [
        *auth_endpoints(services),
        *social_endpoints(services),
        *registration_endpoints(services),
        *account_endpoints(services),
        *session_endpoints(services),
        *me_endpoints(services),
        *user_endpoints(services),
        *role_endpoints(services),
        *tenant_endpoints(services),
        *membership_endpoints(services),
        *entities_endpoints(services),
        *batches_endpoints(services),
        *histories_endpoints(services),
        *transfers_endpoints(services),
        *key_endpoints(services),
        *health_endpoints(services),
        *(endpoint for made in own for endpoint in made(services)),
    ]


def endpoints(services: Services, settings: HttpSettings, metrics: Counted | None = None) -> list[Endpoint]:
    """Everything that is served: the table that routes and tests are made from."""
    described = api_endpoints(services, settings.own)
    return [
        *described,
        *metrics_endpoints(metrics or Metrics(), settings.metrics_token),
        *page_endpoints(settings.about.title),
        *encrypted_passwords_endpoints(settings.about),
        *docs_endpoints(settings.about, description(described, services.registry, settings.about)),
    ]


@dataclass(frozen=True)
class Application:
    """Requests go straight to the door; the framework has the lifespan, and the requests that are odd."""

    door: Door
    framework: Litestar

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and _is_plain(scope):
            await self.door(scope, receive, send)
        else:
            await self.framework(scope, receive, send)


def _is_plain(scope: Scope) -> bool:
    """What the framework would hand on as it is: it refuses some hosts, and reads some paths in its own way."""
    if "//" in scope["path"] or scope.get("root_path"):
        return False
    return all(_PLAIN_HOST.fullmatch(value) for name, value in scope["headers"] if name == b"host")


def build_app(services: Services, settings: HttpSettings, lifespan: Sequence[Lifespan] = ()) -> Application:
    pipeline = Pipeline(Security(services.tokens), services.throttle, settings.counts_limits)
    metrics = Metrics()
    table, opened = endpoints(services, settings, metrics), Door
    if settings.server_timing:
        table, pipeline, opened = [timed(one) for one in table], timed_pipeline(pipeline), TimedDoor
    door = opened(Routes(table), pipeline, services.clock, settings.trusted_proxies, _both(metrics.see, settings.log))
    return Application(door, _framed(door, lifespan))


def _both(first: AccessLog, second: AccessLog) -> AccessLog:
    def hear(line: AccessLine) -> None:
        first(line)
        second(line)

    return hear


def _framed(door: Door, lifespan: Sequence[Lifespan]) -> Litestar:

    @asgi("/", is_mount=True, copy_scope=False)
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await door(scope, receive, send)

    return framework(serve, lifespan, refuse)


def refuse(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """What Litestar itself refuses before our door is reached: a Host header that is none."""
    refusal: Error = NotFound() if error.status_code == 404 else BadRequest(error.detail)
    answer = error_answer(refusal, area_of(request.scope["path"]), "nowhere", token_hex(16))
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    assert isinstance(answer.body, bytes)
    return Response(answer.body, status_code=answer.status, headers=headers)
