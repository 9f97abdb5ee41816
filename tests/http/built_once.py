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
from adapters.http.use_cases import UseCases
from domain.entities.declaration import Registry

_CALLED: ContextVar[UseCases] = ContextVar("use cases of the client that sent the request")
_BUILT: list[tuple[Registry, HttpSettings, Litestar]] = []
_OWN: dict[str, Any] = {
    name: getattr(HttpSettings(), name)
    for name in ("log", "routes", "inbox", "cors", "compression", "server_timing", "metrics_token")
}
"""Settings with which a test gets an application of its own, as they are without."""


class _UseCases:
    """Use cases of whoever calls. While the application is built, nobody does: then a stand-in for each."""

    own_queries = None
    freshness = None

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

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

    A test with routes of its own, or with something that counts, times or keeps what is sent, gets its own.
    """
    if services.own_queries is not None or services.freshness is not None or settings != replace(settings, **_OWN):
        return build_app(services, settings)
    for registry, like, app in _BUILT:
        if registry is services.registry and like == settings:
            return app
    app = build_app(cast(UseCases, _UseCases(services.registry)), settings)
    _BUILT.append((services.registry, settings, app))
    return app


def asgi_of(services: UseCases, settings: HttpSettings | None = None) -> ASGIApp:
    """The application on these use cases."""
    app = application_of(services, settings or HttpSettings())

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        before = _CALLED.set(services)
        try:
            await app(scope, receive, send)
        finally:
            _CALLED.reset(before)

    return call
