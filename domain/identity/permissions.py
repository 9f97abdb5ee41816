"""Permission names ``<action>:<resource>``, their wildcards, and what follows from holding some."""

import re
from collections.abc import Iterable
from uuid import UUID, uuid5

from msgspec import Struct

EVERYTHING = "*"

_NAME = re.compile(r"\*|(\*|[a-z0-9][a-z0-9_-]{0,62}):(\*|[a-z0-9][a-z0-9_-]{0,62})")


class Permission(Struct, frozen=True, kw_only=True):
    """A name that can be given to roles, as it is listed; those of served entities are listed by themselves."""

    id: UUID
    name: str
    description: str = ""
    category: str = ""


_NAMESPACE = UUID("6f6c7f0a-9a3e-5b1d-8f1e-1f2d3c4b5a69")


def registered(name: str, category: str) -> Permission:
    """A permission that needs no row: its id follows from its name."""
    return Permission(id=uuid5(_NAMESPACE, name), name=name, category=category)


def own_permissions() -> list[Permission]:
    """What the service's own endpoints ask for."""
    actions = ("create", "read", "update", "delete")
    names = [f"{action}:{noun}" for noun in ("users", "roles", "tenants") for action in actions]
    return [registered(name, "administration") for name in (*names, "create:permissions", "read:permissions")]


def is_permission(name: str) -> bool:
    """``read:users``, ``*:users``, ``read:*`` and ``*`` are names; anything else is refused where it is given."""
    return _NAME.fullmatch(name) is not None


def covers(held: str, needed: str) -> bool:
    """Whether one held permission says at least what the needed one says; either may hold wildcards."""
    if held in (EVERYTHING, needed):
        return True
    if needed == EVERYTHING:
        return held == "*:*"
    held_action, _, held_resource = held.partition(":")
    action, _, resource = needed.partition(":")
    return held_action in ("*", action) and held_resource in ("*", resource)


def allows(held: Iterable[str], needed: str) -> bool:
    holding = held if isinstance(held, tuple) else tuple(held)
    return needed in holding or any(covers(one, needed) for one in holding)


def may_grant(held: Iterable[str], given: Iterable[str]) -> bool:
    """Nobody gives away a permission they do not hold."""
    holding = tuple(held)
    return all(allows(holding, one) for one in given)


def smallest(permissions: Iterable[str]) -> tuple[str, ...]:
    """The smallest set that says the same, sorted: a held wildcard swallows what it covers."""
    names = sorted({EVERYTHING if name == "*:*" else name for name in permissions})
    return tuple(name for name in names if not any(other != name and covers(other, name) for other in names))
