"""Forgets what functions of some folders remember: else only the first test would reach the lines of the others."""

import gc
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

REMEMBERING: Any = type(lru_cache(len))
"""Class of a function that remembers its results."""


class Memories:
    """Remembering functions of modules below these folders, also those that are made while tests run."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._prefixes = tuple(folder.replace("/", ".") + "." for folder in folders)
        gc.unfreeze()  # frozen objects are in no list
        self._lasting = list(self._found())
        gc.freeze()

    def forget(self) -> None:
        for function in (*self._lasting, *self._found()):
            function.cache_clear()

    def _found(self) -> Iterator[Any]:
        for found in gc.get_objects():
            if isinstance(found, REMEMBERING) and _module(found).startswith(self._prefixes):
                yield found


def _module(remembering: Any) -> str:
    inner = remembering.__wrapped__
    while isinstance(inner, partial):
        inner = inner.func
    return f"{getattr(inner, '__module__', '')}."
