"""Litestar, without what it would only look at: imported and made here alone."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any


@contextmanager
def _taken_as_absent(name: str) -> Iterator[None]:
    """None in ``sys.modules`` is the language's own word for a module that is not to be imported."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


# Where advanced-alchemy is installed, Litestar takes the class of a page from it, and with it all of SQLAlchemy:
# half a second and 35 MiB in each process, for a class that nobody here uses. Without it, it has its own.
with _taken_as_absent("advanced_alchemy"):
    from litestar import Litestar, Response, asgi
    from litestar.connection import Request
    from litestar.exceptions import HTTPException
    from litestar.handlers import ASGIRouteHandler
    from litestar.types import Receive, Scope, Send

__all__ = ["HTTPException", "Litestar", "Receive", "Request", "Response", "Scope", "Send", "asgi"]

Lifespan = Callable[[Litestar], AbstractAsyncContextManager[None]]
Refuse = Callable[[Request[Any, Any, Any], Any], Response[bytes]]


def framework(handler: ASGIRouteHandler, lifespan: Sequence[Lifespan], refuse: Refuse) -> Litestar:
    """Tests bring pydantic along, which it would import to look for models: none of ours is one."""
    with _taken_as_absent("pydantic"):
        return Litestar(
            [handler],
            lifespan=list(lifespan),
            exception_handlers={HTTPException: refuse},
            openapi_config=None,
            logging_config=None,
        )
