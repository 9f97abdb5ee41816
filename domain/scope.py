"""Caller with permissions and token versions, row scopes, and audit entries."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID, uuid5

from msgspec import Meta, Struct

from domain.errors import Forbidden, ReauthenticationRequired, TokenExpired, TokenInvalid

ALL_PERMISSIONS = "*"

_NAME = re.compile(r"\*|(\*|[a-z0-9][a-z0-9_-]{0,62}):(\*|[a-z0-9][a-z0-9_-]{0,62})")
PERMISSION_HINT = "must be <action>:<resource> in lower case, with * for either side, or only *"


class Permission(Struct, frozen=True, kw_only=True):
    """A permission for roles, as listed."""

    id: UUID
    name: str
    description: str = ""
    category: str = ""


_NAMESPACE = UUID("6f6c7f0a-9a3e-5b1d-8f1e-1f2d3c4b5a69")


def registered(name: str, category: str) -> Permission:
    """Return a permission without a database row, with an id derived from its name."""
    return Permission(id=uuid5(_NAMESPACE, name), name=name, category=category)


def is_permission(name: str) -> bool:
    """Return whether the name is well formed, such as ``read:users``, ``*:users``, ``read:*`` or ``*``."""
    return _NAME.fullmatch(name) is not None


def allows(held: Iterable[str], needed: str) -> bool:
    """Return whether any of the permissions ``held`` implies ``needed``."""
    holding = held if isinstance(held, tuple) else tuple(held)
    # Most permissions match by name, without parsing.
    return needed in holding or any(name in holding for name in _wider(needed))


def may_grant(held: Iterable[str], given: Iterable[str]) -> bool:
    """Return whether ``held`` implies every permission of ``given``."""
    holding = set(held)
    return all(name in holding or not holding.isdisjoint(_wider(name)) for name in given)


def smallest(permissions: Iterable[str]) -> tuple[str, ...]:
    """Return the shortest equivalent list, sorted: ``["read:users", "*:users"]`` becomes ``("*:users",)``."""
    names = {ALL_PERMISSIONS if name == "*:*" else name for name in permissions}
    return tuple(sorted(name for name in names if names.isdisjoint(_wider(name))))


def meet(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    """Return the permissions implied by both lists: ``meet(["*:users"], ["read:*"])`` is ``("read:users",)``.

    For every permission ``p``, ``allows(meet(a, b), p)`` is ``allows(a, p) and allows(b, p)``.
    """
    # A token's size limits both lists. Set lookups make the work linear.
    held, others = set(smallest(first)), set(smallest(second))
    common = {name for name in held if not others.isdisjoint((name, *_wider(name)))}
    common |= {name for name in others if not held.isdisjoint(_wider(name))}
    # Each remaining pair, such as `read:*` and `*:users`, implies a common permission: `read:users`.
    for by_resource, by_action in ((held, others), (others, held)):
        resources = [name for name in by_resource if name.startswith("*:")]
        common |= {name[:-1] + narrow[2:] for name in by_action if name.endswith(":*") for narrow in resources}
    return smallest(common)


def _wider(name: str) -> tuple[str, ...]:
    """Other names that imply this one: ``("*", "*:*", "read:*", "*:users")`` for ``read:users``."""
    action, _, resource = name.partition(":")
    return tuple(wider for wider in (ALL_PERMISSIONS, "*:*", f"{action}:*", f"*:{resource}") if wider != name)


SYSTEM_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
"""Tenant of the super-admins; the first start creates it with the same id in every installation."""


class OneTenant(Struct, frozen=True):
    """Rows of this tenant and rows shared by all tenants.

    Of rows that are shared with some tenants, those that are shared with this one. With ``sees_all``, which
    super-admins have, all of them.
    """

    id: UUID
    sees_all: bool = False


class OwnRows(OneTenant, frozen=True, kw_only=True):
    """Rows of one tenant, for a caller limited to own rows of some entities.

    ``sees`` are plurals of which the caller sees only own rows. ``touches`` are permissions, such as
    ``update:orders``, by which the caller may write only own rows.
    """

    user_id: UUID
    sees: frozenset[str]
    touches: frozenset[str]


class EveryTenant(Struct, frozen=True):
    """Rows of all tenants: for identity before a tenant is chosen, and for audited super-admins."""


Scope = OneTenant | EveryTenant


class Rights(Struct, frozen=True):
    """Permissions without a caller: equal for all callers with the same permissions, so usable as a cache key."""

    permissions: tuple[str, ...]
    is_super_admin: bool

    def may(self, *permissions: str) -> bool:
        return any(allows(self.permissions, each) for each in permissions)


# With names, ids and a signature, a token has 12 kB. With the longest names it has less than 16 kB, the limit for
# reading a token.
GRANTS_BYTES = 7_800
"""Maximum bytes of JSON for the permissions, role names and role versions of a token."""

Versions = Mapping[str, int]
"""Version of each subject; 0 if the service never increased it."""


def user_subject(user_id: UUID) -> str:
    """Return the subject bumped by logout, disabling, deletion and a new password, to revoke the user's tokens."""
    return f"user:{user_id}"


def session_subject(session_id: UUID) -> str:
    """Return the subject that the end of the session increases, to revoke the session's tokens."""
    return f"session:{session_id}"


def grants_subject(user_id: UUID) -> str:
    """Return the subject increased by changes of the user's roles or memberships, to make tokens stale."""
    return f"grants:{user_id}"


def tenant_subject(tenant_id: UUID) -> str:
    """Return the subject that closing or deleting the tenant increases, to make the tenant's tokens stale."""
    return f"tenant:{tenant_id}"


def role_subject(role_id: UUID) -> str:
    """Return the subject bumped when the role's permissions change, to make its holders' tokens stale."""
    return f"role:{role_id}"


def at_issue(subjects: Iterable[str], versions: Versions) -> dict[str, int]:
    """Return the versions of a new token's subjects."""
    return {subject: versions.get(subject, 0) for subject in subjects}


CallerKind = Literal["person", "service"]
TokenType = Literal["Tenant", "Global"]


def ensure_alive(issued: Mapping[str, int], now: Mapping[str, int]) -> None:
    """Raise TokenInvalid for a revoked token (log in again), TokenExpired for a stale one (refresh is enough)."""
    outdated = [subject for subject, version in issued.items() if now.get(subject, 0) > version]
    # Check revoked before stale: a client would refresh a revoked token in vain.
    if any(subject.startswith(("user:", "session:")) for subject in outdated):
        raise TokenInvalid("The token has been revoked.")
    if outdated:
        raise TokenExpired("Your permissions have changed since the token was issued: refresh it.")


class Caller(Struct, frozen=True, kw_only=True):
    """User or service account of a verified token; ``issued`` has the token versions at the issue of the token.

    ``methods`` are the proofs of the session, by the names of RFC 8176. ``authenticated_at`` is the epoch second of the
    last proof, 0 if unknown.
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
        """Return the tenants to audit for an action on a member of ``tenants``: the caller's, or
        all from ``system``.
        """
        return sorted({self.tenant.id, *(tenants if self.acts_for_all else ())})

    @property
    def rights(self) -> Rights:
        return Rights(self.permissions, self.is_super_admin)

    @property
    def counted_as(self) -> str:
        """Name under which the caller's requests are counted: ``user:…`` or ``service:…``."""
        return f"{'user' if self.kind == 'person' else 'service'}:{self.user_id}"

    def ensure_person(self) -> None:
        """Raise Forbidden for a service account."""
        if self.kind != "person":
            raise Forbidden("This is for people: a service account cannot do it.")

    def ensure_recent(self, now: datetime, within: timedelta) -> None:
        """Raise ReauthenticationRequired if the last proof is older than ``within``."""
        if now.timestamp() - self.authenticated_at > within.total_seconds():
            raise ReauthenticationRequired(int(within.total_seconds()))

    def may(self, permission: str) -> bool:
        return allows(self.permissions, permission)

    def ensure_may(self, *permissions: str) -> None:
        """Raise Forbidden for a caller without any of the permissions."""
        if not any(self.may(permission) for permission in permissions):
            raise Forbidden

    @property
    def tenant(self) -> OneTenant:
        """Scope of the caller's tenant. Raises Forbidden for a Global Token, because it has no tenant."""
        if self.tenant_id is None:
            raise Forbidden
        return OneTenant(self.tenant_id, self.is_super_admin)


class Client(Struct, frozen=True, kw_only=True):
    """Client of a request.

    ``network`` is the unit for counting and locking failed logins: the address for IPv4, its /64 for IPv6
    (``2001:db8:1:2::/64``). ``device`` is the User-Agent. ``language`` is the language of the browser, one of
    ``LANGUAGES``, or ``""`` without a supported language.
    """

    address: str
    network: str
    device: str = ""
    request_id: str = ""
    language: str = ""


class AuditEvent(Struct, rename="camel", kw_only=True, frozen=True):
    """Entry of the audit trail: ``actor_id`` did ``action`` on ``target_id``. Immutable, and permanent by default."""

    actor_id: UUID | None
    action: Annotated[str, Meta(min_length=1, max_length=300)]
    target_id: UUID | None = None
    address: str | None = None
    request_id: str | None = None
    occurred_at: datetime


def event(action: str, actor: UUID | None, target: UUID | None, client: Client, at: datetime) -> AuditEvent:
    """Return an audit event; ``action`` is ``<noun>.<participle>``: ``login.failed`` or ``role.changed``."""
    return AuditEvent(
        actor_id=actor,
        action=action,
        target_id=target,
        address=client.address,
        request_id=client.request_id,
        occurred_at=at,
    )
