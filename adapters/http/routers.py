"""Routers created for each application."""

from typing import Self

from litestar import Router


class FreshRouter(Router):
    """A router that is registered only once, and so not copied: copying all handlers at each level took a third of the
    build time.
    """

    def __deepcopy__(self, memo: object) -> Self:
        return self
