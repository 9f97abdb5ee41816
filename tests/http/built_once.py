"""Applications built once for all tests of a worker: building takes a tenth of a second, a request a thousandth.

Only what Litestar makes of handlers is shared. Use cases, the database, the clock and all else that has a state are the
test's own: the application is built on stand-ins, which ask for the use cases of the client that sent the request.
"""

from collections.abc import Hashable
from contextvars import ContextVar
from typing import Any, cast

from litestar import Litestar
from litestar.types import ASGIApp, Receive, Scope, Send

from adapters.http.app import HttpSettings, build_app
from adapters.http.use_cases import UseCases
from domain.entities.declaration import Registry

_CALLED: ContextVar[UseCases] = ContextVar("use cases of the client that sent the request")
_BUILT: dict[Hashable, Litestar] = {}


class _UseCases:
    """Use cases of whoever calls. While the application is built, nobody does: then a stand-in for each."""

    own_queries = None

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

    With routes of its own, or with settings that few tests have, a test gets an application of its own.
    """
    usual = HttpSettings(counts_limits=settings.counts_limits, trusted_proxies=settings.trusted_proxies)
    if services.own_queries is not None or settings != usual:
        return build_app(services, settings)
    # the registry is kept by what is built, so that its id does not come again
    key = (id(services.registry), settings.counts_limits, settings.trusted_proxies)
    if key not in _BUILT:
        _BUILT[key] = build_app(cast(UseCases, _UseCases(services.registry)), settings)
    return _BUILT[key]


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
