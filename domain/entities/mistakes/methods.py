"""Errors in an entity's rules: methods with a wrong signature, or with a name similar to ``check``."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from domain.entities.declaration import EntityModel
from domain.entities.mistakes.places import Mistake

_CHECK = "def check(self, before)"
_CHECK_STORED = "async def check_stored(self, before, rows)"


def method_mistakes(model: EntityModel) -> Iterator[Mistake]:
    rules: Any = model.struct
    if model.has_check:
        yield from _signature(model, "check", 2, _CHECK)
        method = inspect.unwrap(rules.check)
        if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            yield Mistake(f"check must be a plain `{_CHECK}`: a rule that awaits is `{_CHECK_STORED}`", "check")
    if model.asks_other_rows:
        yield from _signature(model, "check_stored", 3, _CHECK_STORED)
        if not inspect.isasyncgenfunction(rules.check_stored):
            yield Mistake("check_stored must be an `async def` that yields errors", "check_stored")
    yield from _misspelt(model)


def _signature(model: EntityModel, name: str, count: int, remedy: str) -> Iterator[Mistake]:
    method: Callable[..., Any] = getattr(model.struct, name)
    try:
        # The service passes all arguments by position, including ``self``.
        inspect.signature(method).bind(*[None] * count)
    except TypeError:
        yield Mistake(f"{name} cannot be called with {count - 1} arguments: write it as `{remedy}`", name)
    except ValueError:
        return  # a callable without a signature may accept anything


def _misspelt(model: EntityModel) -> Iterator[Mistake]:
    names = [name for kind in model.struct.__mro__ for name, value in vars(kind).items() if inspect.isfunction(value)]
    for name in dict.fromkeys(names):
        for known in ("check", "check_stored"):
            # A leading underscore marks a helper.
            if name != known and not name.startswith("_") and _is_near(name, known):
                yield Mistake(f"has a method {name!r}, which nothing calls: is it {known!r}?", name)


def _is_near(name: str, known: str) -> bool:
    """Compare names, ignoring case, underscores, and one changed, swapped, missing or additional letter."""
    left, right = (text.replace("_", "").lower() for text in (name, known))
    if abs(len(left) - len(right)) > 1:
        return False
    start = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    a, b = left[start:], right[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
