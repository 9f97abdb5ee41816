"""Checks of a project's own routes. Error messages name the route."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from litestar.exceptions import ImproperlyConfiguredException

from adapters.http.app import build_app
from adapters.http.docs.schemas import UnreadableType
from adapters.http.duplicate_routes import DuplicateRoutes
from adapters.http.entities.own_routes import methods_and_paths, own_router
from adapters.http.handler_rules import NoPolicy
from adapters.http.use_cases import UseCases
from adapters.prometheus.metrics import PrometheusMetrics
from application.entities.declaration_files import file_of
from entrypoints.assembly.entities import EntitiesError, load_routes, where_raised
from entrypoints.assembly.http_settings import http_settings
from entrypoints.settings.settings import Settings


def ensure_routes_served(services: UseCases, settings: Settings) -> list[str]:
    """Return methods and paths of the project's routes.

    Raises EntitiesError before the first worker starts, because the error would end it. Without project routes the
    start skips the check.
    """
    routes = load_routes(settings.entities)
    if not routes:
        return []
    with routes_checked():
        build_app(services, http_settings(settings, routes), PrometheusMetrics())
        return methods_and_paths(own_router(services, routes))


_UNPROVIDED = re.compile(r"Explicit dependency '(\w+)' for '(.+)' has no default value, or provided dependency\.")
"""Litestar's message about an argument without a provider."""
_PROVIDED = (
    r"\2 takes \1, which nothing is called: the rows of an entity are called by its plural with underscores, such as"
    " order_lines; the other names are caller, client, database and session."
)


@contextmanager
def routes_checked() -> Iterator[None]:
    """Convert errors in the registration of a user's routes to EntitiesError."""
    try:
        yield
    except DuplicateRoutes as error:
        raise EntitiesError(error.mistakes) from None
    except ImproperlyConfiguredException as error:
        raise EntitiesError([f"ROUTES: {_UNPROVIDED.sub(_PROVIDED, error.detail)}"]) from None
    except (NoPolicy, UnreadableType) as error:
        raise EntitiesError([_named_by_file(str(error))]) from None
    except EntitiesError:
        raise
    except Exception as error:  # annotations of a user's handler may raise anything
        raise EntitiesError([f"ROUTES cannot be served: {where_raised(error)}"]) from error


def _named_by_file(mistake: str) -> str:
    """Replace a generated module name by the file name: ``nopolicy_16b66028b05dc63c.lend states …`` becomes
    ``nopolicy.py: ROUTES: lend states …``.
    """
    module, _, rest = mistake.partition(".")
    file = file_of(module)
    return f"ROUTES: {mistake}" if file is None else f"{file.name}: ROUTES: {rest}"
