"""Applications built once for all tests of a worker: building takes a tenth of a second, a request a thousandth.

Only what Litestar makes of handlers is shared. Use cases, the database, the clock and all else that has a state are the
test's own: the application is built on stand-ins, which ask for the use cases of the client that sent the request.
"""

from contextvars import ContextVar
from dataclasses import replace
from typing import Any, cast

from litestar import Litestar
from litestar.types import ASGIApp, Receive, Scope, Send

from adapters.http.app import HttpSettings, build_app
from adapters.http.operations.access_log import log_nothing
from adapters.http.use_cases import TenantSessions, UseCases
from adapters.prometheus.metrics import PrometheusMetrics
from application.ports.access_log import AccessLine, AccessLog
from domain.entities.declaration import Registry

_CALLED: ContextVar[UseCases] = ContextVar("use cases of the client that sent the request")
_LOG: ContextVar[AccessLog] = ContextVar("access log of the client that sent the request")
_BUILT: list[tuple[Registry, TenantSessions | None, HttpSettings, Litestar]] = []
_MOST_BUILT = 16
"""Applications that are kept; routes that a test makes anew are those of no other test."""
_OWN: dict[str, Any] = {
    name: getattr(HttpSettings(), name)
    for name in ("inbox", "cors", "compression", "server_timing", "metrics_token", "is_public")
}
"""Settings with which a test gets an application of its own, as they are without."""


class _UseCases:
    """Use cases of whoever calls. While the application is built, nobody does: then a stand-in for each."""

    freshness = None

    def __init__(self, services: UseCases) -> None:
        self.registry, self.own_queries = services.registry, services.own_queries

    def __getattr__(self, name: str) -> Any:
        called = _CALLED.get(None)
        return _StandIn(name) if called is None else getattr(called, name)


class _StandIn:
    """One use case or port of whoever calls. Raises LookupError while the application is built: nothing is kept."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(_CALLED.get(), self._name), name)

    def __bool__(self) -> bool:
        return bool(getattr(_CALLED.get(), self._name))


def application_of(services: UseCases, settings: HttpSettings) -> Litestar:
    """An application for these entities and settings, on stand-ins where that is possible.

    A test with replicas, or with something that counts, times or keeps what is sent, gets its own.
    """
    if services.freshness is not None or settings != replace(settings, **_OWN):
        return build_app(services, settings, PrometheusMetrics())
    settings = replace(settings, log=_log)
    for built in _BUILT:
        registry, own_queries, like, app = built
        if registry is services.registry and own_queries is services.own_queries and like == settings:
            _BUILT.remove(built)
            break
    else:
        app = build_app(on_stand_ins(services), settings, PrometheusMetrics())
        built = services.registry, services.own_queries, settings, app
    _BUILT.append(built)  # the last used stands last
    del _BUILT[:-_MOST_BUILT]
    return app


def on_stand_ins(services: UseCases) -> UseCases:
    """Stand-ins to build an application on, for these entities and for sessions on this database."""
    return cast(UseCases, _UseCases(services))


def _log(line: AccessLine) -> None:
    _LOG.get()(line)


def asgi_of(services: UseCases, settings: HttpSettings | None = None) -> ASGIApp:
    """The application on these use cases."""
    settings = settings or HttpSettings()
    return called_for(services, application_of(services, settings), settings.log)


def called_for(services: UseCases, app: ASGIApp, log: AccessLog = log_nothing) -> ASGIApp:
    """An application on stand-ins, which here are these use cases."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        called, logged = _CALLED.set(services), _LOG.set(log)
        try:
            await app(scope, receive, send)
        finally:
            _LOG.reset(logged)
            _CALLED.reset(called)

    return call
