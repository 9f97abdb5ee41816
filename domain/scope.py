"""The caller of a request with permissions and token versions, the rows a statement may touch, audit lines."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID, uuid5

from msgspec import Meta, Struct

from domain.errors import Forbidden, ReauthenticationRequired, TokenExpired, TokenInvalid

ALL_PERMISSIONS = "*"

_NAME = re.compile(r"\*|(\*|[a-z0-9][a-z0-9_-]{0,62}):(\*|[a-z0-9][a-z0-9_-]{0,62})")
PERMISSION_HINT = "takes <action>:<resource> in lower case, with * for either side, or * alone"


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


def is_permission(name: str) -> bool:
    """Whether the name is well formed: ``read:users``, ``*:users``, ``read:*`` and ``*`` are, ``Read:users`` is not."""
    return _NAME.fullmatch(name) is not None


def allows(held: Iterable[str], needed: str) -> bool:
    """Whether any of the permissions ``held`` implies ``needed``."""
    holding = held if isinstance(held, tuple) else tuple(held)
    # Most permissions are held by their very name: that costs no parsing.
    return needed in holding or any(name in holding for name in _wider(needed))


def may_grant(held: Iterable[str], given: Iterable[str]) -> bool:
    """Whether every permission of ``given`` is implied by ``held``."""
    holding = set(held)
    return all(name in holding or not holding.isdisjoint(_wider(name)) for name in given)


def smallest(permissions: Iterable[str]) -> tuple[str, ...]:
    """The shortest equivalent list, sorted: ``["read:users", "*:users"]`` becomes ``("*:users",)``."""
    names = {ALL_PERMISSIONS if name == "*:*" else name for name in permissions}
    return tuple(sorted(name for name in names if names.isdisjoint(_wider(name))))


def meet(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    """The permissions that both lists imply: ``meet(["*:users"], ["read:*"])`` is ``("read:users",)``.

    ``allows(meet(a, b), p)`` is ``allows(a, p) and allows(b, p)`` for every permission ``p``.
    """
    # Both lists are bounded, by the bytes of a token; looking names up keeps the work linear all the same.
    held, others = set(smallest(first)), set(smallest(second))
    common = {name for name in held if not others.isdisjoint((name, *_wider(name)))}
    common |= {name for name in others if not held.isdisjoint(_wider(name))}
    # What is left are pairs such as `read:*` and `*:users`, which imply `read:users` together.
    for by_resource, by_action in ((held, others), (others, held)):
        resources = [name for name in by_resource if name.startswith("*:")]
        common |= {name[:-1] + narrow[2:] for name in by_action if name.endswith(":*") for narrow in resources}
    return smallest(common)


def _wider(name: str) -> tuple[str, ...]:
    """Other names that imply this one: ``("*", "*:*", "read:*", "*:users")`` for ``read:users``."""
    action, _, resource = name.partition(":")
    return tuple(wider for wider in (ALL_PERMISSIONS, "*:*", f"{action}:*", f"*:{resource}") if wider != name)


SYSTEM_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
"""The tenant of the super-admins, made by the first start with the same id everywhere."""


class OneTenant(Struct, frozen=True):
    """Rows of this tenant and rows shared by all tenants.

    Of rows that are shared with some tenants, those that are shared with this one. With ``sees_all``, which
    super-admins have, all of them.
    """

    id: UUID
    sees_all: bool = False


class EveryTenant(Struct, frozen=True):
    """Rows of all tenants: for identity before a tenant is chosen, and for audited super-admins."""


Scope = OneTenant | EveryTenant


class Rights(Struct, frozen=True):
    """Permissions without their bearer: equal, and a key of caches, for all callers who may do the same."""

    permissions: tuple[str, ...]
    is_super_admin: bool

    def may(self, permission: str) -> bool:
        return allows(self.permissions, permission)


# A token of 12 kB carries names, ids and a signature beside the grants. With the longest names allowed it stays below
# 16 kB, beyond which no token is read.
GRANTS_BYTES = 7_800
"""Most bytes of JSON for the permissions, role names and role versions of a token."""

Versions = Mapping[str, int]
"""Subject → its version; a subject that was never bumped has version 0."""


def user_subject(user_id: UUID) -> str:
    """Bumped by logout, disabling, deletion and a changed password: the user's tokens are revoked."""
    return f"user:{user_id}"


def session_subject(session_id: UUID) -> str:
    """Bumped when the session is ended: its tokens are revoked."""
    return f"session:{session_id}"


def grants_subject(user_id: UUID) -> str:
    """Bumped when the user's roles or memberships change: the user's tokens are stale."""
    return f"grants:{user_id}"


def tenant_subject(tenant_id: UUID) -> str:
    """Bumped when the tenant is closed or deleted: its tokens are stale."""
    return f"tenant:{tenant_id}"


def role_subject(role_id: UUID) -> str:
    """Bumped when the role's permissions change: the tokens of its holders are stale."""
    return f"role:{role_id}"


def at_issue(subjects: Iterable[str], versions: Versions) -> dict[str, int]:
    """The versions that a new token carries for its subjects."""
    return {subject: versions.get(subject, 0) for subject in subjects}


CallerKind = Literal["person", "service"]
TokenType = Literal["Tenant", "Global"]


def ensure_alive(issued: Mapping[str, int], now: Mapping[str, int]) -> None:
    """Raises TokenInvalid for a revoked token (log in again), TokenExpired for a stale one (refresh is enough)."""
    outdated = [subject for subject, version in issued.items() if now.get(subject, 0) > version]
    # Revoked goes before stale: a client told to refresh would try in vain.
    if any(subject.startswith(("user:", "session:")) for subject in outdated):
        raise TokenInvalid("The token has been revoked.")
    if outdated:
        raise TokenExpired("Your permissions have changed since the token was issued: refresh it.")


class Caller(Struct, frozen=True, kw_only=True):
    """The user or service account behind a verified token; ``issued`` are the token versions it was issued under.

    ``methods`` are how the session was proved, by the names of RFC 8176. ``authenticated_at`` is the epoch second of
    the last proof, 0 where it is not known.
    """

    user_id: UUID
    session_id: UUID
    tenant_id: UUID | None
    name: str
    email: str
    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    is_super_admin: bool
    app_id: str | None
    issued: dict[str, int]
    expires_at: int
    kind: CallerKind = "person"
    methods: tuple[str, ...] = ()
    authenticated_at: int = 0

    @property
    def is_global(self) -> bool:
        return self.tenant_id is None

    @property
    def acts_for_all(self) -> bool:
        """Whether the caller is a super-admin in the tenant ``system``, acting on users of all tenants."""
        return self.is_super_admin and self.tenant_id == SYSTEM_TENANT_ID

    def audited_tenants(self, tenants: Iterable[UUID]) -> list[UUID]:
        """Tenants whose trail tells what the caller did to a member of ``tenants``: from ``system`` those as well."""
        return sorted({self.tenant.id, *(tenants if self.acts_for_all else ())})

    @property
    def rights(self) -> Rights:
        return Rights(self.permissions, self.is_super_admin)

    @property
    def counted_as(self) -> str:
        """Name under which the caller's requests are counted: ``user:…`` or ``service:…``."""
        return f"{'user' if self.kind == 'person' else 'service'}:{self.user_id}"

    def ensure_person(self) -> None:
        """Raises Forbidden for a service account."""
        if self.kind != "person":
            raise Forbidden("This is for people: a service account cannot do it.")

    def ensure_recent(self, now: datetime, within: timedelta) -> None:
        """Raises ReauthenticationRequired when the last proof is older than ``within``."""
        if now.timestamp() - self.authenticated_at > within.total_seconds():
            raise ReauthenticationRequired(int(within.total_seconds()))

    def may(self, permission: str) -> bool:
        return allows(self.permissions, permission)

    def ensure_may(self, permission: str) -> None:
        if not self.may(permission):
            raise Forbidden

    @property
    def tenant(self) -> OneTenant:
        """Scope of the caller's own tenant. Raises Forbidden for a Global Token, which has none."""
        if self.tenant_id is None:
            raise Forbidden
        return OneTenant(self.tenant_id, self.is_super_admin)


class Client(Struct, frozen=True, kw_only=True):
    """The client of a request.

    ``network`` is the unit that failed logins are counted and locked by: the address itself for IPv4, its /64 for IPv6
    (``2001:db8:1:2::/64``). ``device`` is the client's own description, its User-Agent.
    ``language`` is the language that its browser asks for, one of ``LANGUAGES``; ``""`` for another one or none.
    """

    address: str
    network: str
    device: str = ""
    request_id: str = ""
    language: str = ""


class AuditEvent(Struct, rename="camel", kw_only=True, frozen=True):
    """A line of the audit trail: ``actor_id`` did ``action`` on ``target_id``. Kept for ever and never changed."""

    actor_id: UUID | None
    action: Annotated[str, Meta(min_length=1, max_length=300)]
    target_id: UUID | None = None
    address: str | None = None
    request_id: str | None = None
    occurred_at: datetime


def event(action: str, actor: UUID | None, target: UUID | None, client: Client, at: datetime) -> AuditEvent:
    """Builds an event; ``action`` is ``<noun>.<participle>``, such as ``login.failed`` or ``role.changed``."""
    return AuditEvent(
        actor_id=actor,
        action=action,
        target_id=target,
        address=client.address,
        request_id=client.request_id,
        occurred_at=at,
    )
