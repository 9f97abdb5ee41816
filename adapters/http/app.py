"""The standalone service: the plugin on an empty Litestar application."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from time import time
from typing import Any

from litestar import Litestar
from litestar.config.compression import CompressionConfig
from litestar.config.cors import CORSConfig
from litestar.types import ControllerRouterHandler

from adapters.http.account.mail_pages import account_handlers
from adapters.http.account.pages import SignInPages, sign_in_page_router
from adapters.http.account.social import SocialPages, social_page_router, state_cookie
from adapters.http.console.pages import ROOT, Console, front_handler, page_handlers
from adapters.http.console.session import session_router
from adapters.http.console.session_cookie import SessionCookie
from adapters.http.docs.pages import About, docs_handlers
from adapters.http.docs.served import CachedDocument, openapi_config
from adapters.http.operations.access_log import log_access
from adapters.http.operations.health import health_router
from adapters.http.operations.inbox import inbox_handlers
from adapters.http.operations.metrics import metrics_handler
from adapters.http.operations.traffic import traffic_handler
from adapters.http.plugin import HttpPlugin
from adapters.http.request.client_address import Network
from adapters.http.request.hosts import AllowedHosts
from adapters.http.request.pipeline import Pipeline
from adapters.http.request.read_your_writes import ReplicaPipeline
from adapters.http.unmatched import complete_preflight
from adapters.http.use_cases import UseCases
from application.operations.traffic import Traffic
from application.ports.access_log import AccessLine, AccessLog
from application.ports.mail_delivery import Inbox
from application.ports.metrics import Metrics
from domain.limits import REAUTHENTICATED

Lifespan = Callable[[Litestar], AbstractAsyncContextManager[None]]
Handlers = Sequence[ControllerRouterHandler]


@dataclass(frozen=True, kw_only=True)
class HttpSettings:
    """Settings of the HTTP interface.

    ``counts_limits`` False disables rate limits; otherwise the throttle decides whether a limit refuses.
    ``server_timing`` adds the times of all stages to the responses. ``routes`` are a user's handlers, controllers and
    routers. ``cors`` and ``compression`` are Litestar's configurations. Only the standalone service serves ``console``
    and checks ``allowed_hosts``; an application with the plugin must do this itself. ``files_host`` serves nothing but
    links to files. ``is_https`` adds HSTS. ``recent``
    is the maximum age of a recent proof. ``inbox`` holds the mails of a service without a mail server.
    """

    about: About = field(default_factory=About)
    console: Console = field(default_factory=Console)
    trusted_proxies: tuple[Network, ...] = ()
    counts_limits: bool = True
    server_timing: bool = False
    log: AccessLog = log_access
    metrics_token: str | None = field(default=None, repr=False)
    is_public: bool = False
    inbox: Inbox | None = None
    routes: tuple[ControllerRouterHandler, ...] = ()
    cors: CORSConfig | None = None
    allowed_hosts: tuple[str, ...] = ()
    files_host: str = ""
    is_https: bool = False
    recent: timedelta = REAUTHENTICATED
    compression: CompressionConfig | None = None


def build_app(services: UseCases, settings: HttpSettings, metrics: Metrics | None = None) -> Litestar:
    """Build the service with metrics of this process only; without ``metrics`` it has none."""
    pipeline, beside = service_parts(services, settings, metrics, Traffic(time))
    plugin = HttpPlugin(
        services, pipeline, settings.routes, beside, answers_everything=True, is_timed=settings.server_timing
    )
    return empty_application(plugin, settings)


def empty_application(
    plugin: HttpPlugin,
    settings: HttpSettings,
    lifespan: Sequence[Lifespan] = (),
    document: CachedDocument | None = None,
    **options: Any,
) -> Litestar:
    """Return an application with only the plugin, which serves ``document``; ``options`` are Litestar's."""
    return Litestar(
        plugins=[plugin],
        lifespan=list(lifespan),
        openapi_config=openapi_config(settings.about, plugin.router, settings.console.prefix, document),
        cors_config=settings.cors,
        before_send=[] if settings.cors is None else [partial(complete_preflight, plugin.area_of)],
        compression_config=settings.compression,
        logging_config=None,
        **options,
    )


def service_parts(
    services: UseCases, settings: HttpSettings, metrics: Metrics | None, traffic: Traffic
) -> tuple[Pipeline, Handlers]:
    """Return the parts of the standalone service: a pipeline with metrics, and the handlers without use cases."""
    hosts = AllowedHosts(settings.allowed_hosts) if settings.allowed_hosts else None
    counting = [traffic.see] if metrics is None else [traffic.see, metrics.see]
    log = _heard_by(*counting, settings.log)
    pipeline = build_pipeline(services, settings, log, hosts, is_https=settings.is_https)
    scraped = (
        []
        if metrics is None
        else [metrics_handler(metrics, services.monitoring, settings.metrics_token, settings.is_public)]
    )
    return pipeline, [*_service_handlers(services, settings), *scraped, traffic_handler(traffic)]


def plugin_parts(services: UseCases, settings: HttpSettings) -> tuple[Pipeline, Handlers]:
    """Return the parts of the plugin for another application. The only pages are the targets of links in mails."""
    pipeline = build_pipeline(services, settings, settings.log)
    return pipeline, _account_handlers(services, settings)


def build_pipeline(
    services: UseCases,
    settings: HttpSettings,
    log: AccessLog,
    hosts: AllowedHosts | None = None,
    *,
    is_https: bool = False,
) -> Pipeline:
    freshness = services.freshness
    made = Pipeline if freshness is None else partial(ReplicaPipeline, freshness=freshness)
    return made(
        tokens=services.token_authentication,
        keys=services.key_authentication,
        throttle=services.throttle,
        clock=services.clock,
        cross_tenant_access=services.cross_tenant_access,
        denied_operations=services.denied_operations,
        log=log,
        proxies=settings.trusted_proxies,
        counts_limits=settings.counts_limits,
        hosts=hosts,
        files_host=settings.files_host,
        is_https=is_https,
        below=settings.console.prefix.encode(),
        recent=settings.recent,
    )


def _heard_by(*logs: AccessLog) -> AccessLog:
    def hear(line: AccessLine) -> None:
        for log in logs:
            log(line)

    return hear


def _service_handlers(services: UseCases, settings: HttpSettings) -> list[ControllerRouterHandler]:
    return [
        *_console_handlers(settings),
        health_router(services),
        *([] if settings.inbox is None else inbox_handlers(settings.inbox, settings.about.title, settings.about.root)),
        *_account_handlers(services, settings),
        *docs_handlers(settings.about, settings.console.prefix),
    ]


def _console_handlers(settings: HttpSettings) -> list[ControllerRouterHandler]:
    console = settings.console
    if not console.is_on:
        return [front_handler(f"{console.prefix}/{settings.about.root}/index.html")]
    return [front_handler(f"{console.prefix}{ROOT}"), *page_handlers(console)]


def _account_handlers(services: UseCases, settings: HttpSettings) -> list[ControllerRouterHandler]:
    pages = SignInPages(
        service=settings.about.title,
        targets=services.targets,
        appearances=services.appearances,
        registration=services.registration,
        social=services.social_redirect,
        has_console=settings.console.is_on,
    )
    social = SocialPages(
        redirect=services.social_redirect,
        codes=services.login_codes,
        tokens=services.tokens,
        pages=pages,
        state=state_cookie(settings.console.base_url),
        session=SessionCookie(settings.console),
    )
    return [
        *account_handlers(settings.about.title),
        sign_in_page_router(pages),
        social_page_router(social),
        session_router(services, settings.console),
    ]
