"""Retry of use cases that failed because of concurrent transactions."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from domain.errors import SerializationConflict

P = ParamSpec("P")
R = TypeVar("R")

TRIES = 5


def retry_on_conflict(use_case: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Run ``use_case`` again from its start after a SerializationConflict, at most TRIES times in total."""

    @wraps(use_case)
    async def attempt(*args: P.args, **named: P.kwargs) -> R:
        # No pause: the winning transaction has committed already.
        for _ in range(TRIES - 1):
            try:
                return await use_case(*args, **named)
            except SerializationConflict:
                continue
        return await use_case(*args, **named)

    return attempt
