"""Which fields do not exist for a caller: those whose own read permission they do not hold."""

from collections.abc import Iterable
from functools import lru_cache

from domain.entities.declaration import Registry
from domain.entities.query.query import Hidden
from domain.identity.permissions import allows


def hidden_from(registry: Registry, permissions: Iterable[str]) -> Hidden:
    """What queries and views of this caller neither show nor know."""
    guarded = _guarded(registry)
    held = tuple(permissions) if guarded else ()
    return frozenset((plural, name) for plural, name, needed in guarded if not allows(held, needed))


@lru_cache(maxsize=16)
def _guarded(registry: Registry) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (model.plural, one.name, one.guard.read)
        for model in registry
        for one in model.fields
        if one.guard.read is not None
    )
