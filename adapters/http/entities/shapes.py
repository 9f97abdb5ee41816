"""Types that stand for an entity's JSON in annotations, and the helper that gives them to a closure."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

from litestar import Response
from litestar.params import JSONBody

F = TypeVar("F", bound=Callable[..., Any])


class Shape:
    """A named schema of the document: a row arrives from the database as JSON, so no struct of it exists."""


@lru_cache(maxsize=4096)
def shape(name: str) -> type[Shape]:
    """``shape("ProductPage")``: the type for annotations of a response that holds a page of products."""
    return type(name, (Shape,), {"__module__": "entities"})


def typed(function: F, answer: Any, body: Any = None) -> F:
    """Gives a closure the types of its entity, which Litestar reads and a type checker cannot."""
    function.__annotations__["return"] = Response[answer]
    if body is not None:
        function.__annotations__["data"] = cast(Any, JSONBody)[body]
    return function
