"""Fields that do not exist for a caller, because the caller does not hold their read permission."""

from collections.abc import Iterable
from functools import lru_cache

from domain.entities.declaration import Registry
from domain.entities.query.query import Hidden
from domain.scope import allows


def hidden_from(registry: Registry, permissions: Iterable[str]) -> Hidden:
    """The fields hidden from a caller with these permissions, for queries and views."""
    guarded = _guarded(registry)
    # Most registries guard nothing: then the permissions are not even copied.
    held = tuple(permissions) if guarded else ()
    return frozenset((plural, name) for plural, name, needed in guarded if not allows(held, needed))


@lru_cache(maxsize=16)
def _guarded(registry: Registry) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (model.plural, field.name, field.guard.read)
        for model in registry
        for field in model.fields
        if field.guard.read is not None
    )
