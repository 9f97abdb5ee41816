"""Permissions ``<action>:<resource>``, their wildcards, and which permissions others imply."""

import re
from collections.abc import Iterable
from uuid import UUID, uuid5

from msgspec import Struct

EVERYTHING = "*"

_NAME = re.compile(r"\*|(\*|[a-z0-9][a-z0-9_-]{0,62}):(\*|[a-z0-9][a-z0-9_-]{0,62})")


class Permission(Struct, frozen=True, kw_only=True):
    """A permission that roles can hold, as it is listed."""

    id: UUID
    name: str
    description: str = ""
    category: str = ""


_NAMESPACE = UUID("6f6c7f0a-9a3e-5b1d-8f1e-1f2d3c4b5a69")


def registered(name: str, category: str) -> Permission:
    """A permission without a row in the database: its id is derived from its name."""
    return Permission(id=uuid5(_NAMESPACE, name), name=name, category=category)


def own_permissions() -> list[Permission]:
    """Permissions that the service's own endpoints require."""
    actions = ("create", "read", "update", "delete")
    names = [f"{action}:{noun}" for noun in ("users", "roles", "tenants") for action in actions]
    return [registered(name, "administration") for name in (*names, "create:permissions", "read:permissions")]


def is_permission(name: str) -> bool:
    """Whether the name is well formed: ``read:users``, ``*:users``, ``read:*`` and ``*`` are, ``Read:users`` is not."""
    return _NAME.fullmatch(name) is not None


def covers(held: str, needed: str) -> bool:
    """Whether the permission ``held`` implies ``needed``; either may contain wildcards.

    Example: ``covers("*:users", "read:users")`` is true, ``covers("read:users", "*:users")`` is false.
    """
    if held in (EVERYTHING, needed):
        return True
    if needed == EVERYTHING:
        return held == "*:*"
    held_action, _, held_resource = held.partition(":")
    action, _, resource = needed.partition(":")
    return held_action in ("*", action) and held_resource in ("*", resource)


def allows(held: Iterable[str], needed: str) -> bool:
    """Whether any of the permissions ``held`` implies ``needed``."""
    holding = held if isinstance(held, tuple) else tuple(held)
    # Most permissions are held by their very name: that costs no parsing.
    return needed in holding or any(covers(permission, needed) for permission in holding)


def may_grant(held: Iterable[str], given: Iterable[str]) -> bool:
    """Whether every permission of ``given`` is implied by ``held``."""
    holding = tuple(held)
    return all(allows(holding, permission) for permission in given)


def smallest(permissions: Iterable[str]) -> tuple[str, ...]:
    """The shortest equivalent list, sorted: ``["read:users", "*:users"]`` becomes ``("*:users",)``."""
    names = sorted({EVERYTHING if name == "*:*" else name for name in permissions})
    return tuple(name for name in names if not any(other != name and covers(other, name) for other in names))
