"""Tenantry as a Litestar plugin with its own adapters, and the service: that plugin on an empty application."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import time
from typing import Any

from litestar import Litestar
from litestar.config.app import AppConfig
from litestar.types import ControllerRouterHandler
from msgspec import Struct
from msgspec.structs import replace as with_values

from adapters.http.app import (
    Handlers,
    HttpSettings,
    Lifespan,
    empty_application,
    plugin_parts,
    service_parts,
)
from adapters.http.docs.served import CachedDocument
from adapters.http.operations.access_log import log_access
from adapters.http.plugin import HttpPlugin
from adapters.http.request.pipeline import Pipeline
from adapters.prometheus.metrics import PrometheusMetrics
from adapters.prometheus.traffic import shared_counters
from application.operations.traffic import Traffic
from application.ports.access_log import AccessLog
from application.tasks import beside
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from entrypoints.assembly.adapters import Adapters, serving_adapters
from entrypoints.assembly.entities import ensure_routes, load_registry, load_routes, registry_of
from entrypoints.assembly.http_settings import http_settings
from entrypoints.assembly.routes import routes_checked
from entrypoints.assembly.use_cases import Services, assemble
from entrypoints.server.background import background, keep_reporting_load
from entrypoints.settings.settings import Settings, SettingsError, read_settings


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """Adapters for the plugin: real ones here, in-memory ones in ``entrypoints.testing.app``."""

    adapters: Callable[[Settings, Registry], Adapters]
    background: Callable[[Services], AbstractAsyncContextManager[None]]
    log: AccessLog = log_access


PRODUCTION = Runtime(adapters=serving_adapters, background=background)


class TenantryPlugin(HttpPlugin):
    """Identity, tenants and entities in a Litestar application: ``Litestar(plugins=[TenantryPlugin()])``.

    Without ``settings``, the plugin reads the environment. ``entities`` are structs that replace those in the modules
    of the setting ``entities``; ``routes`` are handlers in addition to those of the modules. The plugin opens and
    closes its resources with the application. Raises SettingsError and EntitiesError.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        entities: Sequence[type[Struct]] | None = None,
        routes: Sequence[ControllerRouterHandler] = (),
        runtime: Runtime = PRODUCTION,
    ) -> None:
        given = read_settings(os.environ, Path.cwd()) if settings is None else settings
        if runtime is PRODUCTION:
            _ensure_servers(given)
        self.settings, registry = _with_entities(given, entities)
        own = (*(load_routes(given.entities) if entities is None else ()), *ensure_routes(routes, "TenantryPlugin"))
        self.http = http_settings(self.settings, own, runtime.log)
        self.runtime, self.adapters = runtime, runtime.adapters(self.settings, registry)
        services = self.use_cases = assemble(self.adapters, self.settings)
        pipeline, handlers = self.parts(services, self.http)
        super().__init__(
            services, pipeline, self.http.routes, handlers, self.answers_everything, self.http.server_timing
        )

    def parts(self, services: Services, settings: HttpSettings) -> tuple[Pipeline, Handlers]:
        return plugin_parts(services, settings)

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        app_config.lifespan.append(self.lifespan)
        return super().on_app_init(app_config)

    @asynccontextmanager
    async def lifespan(self, _: Litestar) -> AsyncIterator[None]:
        async with self.adapters.life(), self.runtime.background(self.use_cases):
            yield


class Service(TenantryPlugin):
    """The whole service: the plugin with documentation, health and metrics, for every path."""

    answers_everything = True

    def parts(self, services: Services, settings: HttpSettings) -> tuple[Pipeline, Handlers]:
        metrics = self.metrics = PrometheusMetrics()
        services.code_counts.listeners.append(metrics.see_login_code)
        self.use_cases.webhook_counts.listeners.append(metrics.see_webhook)
        services.invitation_counts.listeners.append(metrics.see_invitations)
        self.use_cases.factor_counts.listeners.append(metrics.see_second_factor)
        return service_parts(services, settings, metrics, Traffic(time, shared_counters()))

    def application(self, lifespan: Sequence[Lifespan] = (), **options: Any) -> Litestar:
        """Return the application. Raises EntitiesError for routes that cannot be served."""
        document = CachedDocument()
        beginning = [self._load_reporting, document.prepared, *lifespan]
        with routes_checked():
            return empty_application(self, self.http, beginning, document, **options)

    @asynccontextmanager
    async def _load_reporting(self, _: Litestar) -> AsyncIterator[None]:
        async with beside(keep_reporting_load(self.metrics, self.use_cases.monitoring)):
            yield


def production_with(log: AccessLog) -> Runtime:
    return replace(PRODUCTION, log=log)


def _with_entities(settings: Settings, entities: Sequence[type[Struct]] | None) -> tuple[Settings, Registry]:
    """Settings with the structs' modules, next to which migrations are stored, and the registry."""
    if entities is None:
        return settings, load_registry(settings.entities, settings.files_max_bytes)
    modules = tuple(dict.fromkeys(entity.__module__ for entity in entities))
    return with_values(settings, entities=modules), registry_of([*BUILTIN_ENTITIES, *entities])


def _ensure_servers(settings: Settings) -> None:
    if settings.database_url is None or settings.redis_url is None or settings.secret_key is None:
        needed = "TENANTRY_DATABASE_URL, TENANTRY_REDIS_URL and TENANTRY_SECRET_KEY"
        raise SettingsError([f"{needed} must be set: `tenantry serve` alone starts servers of its own."])
