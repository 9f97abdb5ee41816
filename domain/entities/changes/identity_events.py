"""Events of members, roles and tenants in the feed.

Each follows from an action that the audit trail records, so every use case that records the action has the event.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal
from uuid import UUID

from msgspec import Struct

from domain.scope import AuditEvent, Caller, Rights

IdentityAction = Literal["joined", "changed", "left", "accepted", "disabled"]
IdentityEntity = Literal["members", "roles", "tenants"]


class IdentityEvent(Struct, frozen=True):
    """An event with its entity and action in the log. Its row is the user, the role or the tenant."""

    name: str
    entity: IdentityEntity
    action: IdentityAction


_JOINED = IdentityEvent("member.joined", "members", "joined")
_CHANGED = IdentityEvent("member.changed", "members", "changed")
_LEFT = IdentityEvent("member.left", "members", "left")
_ACCEPTED = IdentityEvent("invitation.accepted", "members", "accepted")
_DISABLED = IdentityEvent("user.disabled", "members", "disabled")
_ROLE = IdentityEvent("role.changed", "roles", "changed")
_TENANT = IdentityEvent("tenant.changed", "tenants", "changed")
IDENTITY_EVENTS = {event.name: event for event in (_JOINED, _CHANGED, _LEFT, _ACCEPTED, _DISABLED, _ROLE, _TENANT)}

_BY_AUDIT_ACTION: Mapping[str, IdentityEvent] = MappingProxyType(
    {
        "user.created": _JOINED,
        "user.imported": _JOINED,
        "user.registered": _JOINED,
        "membership.joined-by-domain": _JOINED,
        "join-request.approved": _JOINED,
        "membership.changed": _CHANGED,
        "user.roles-changed": _CHANGED,
        "user.changed": _CHANGED,
        "email.changed": _CHANGED,
        "membership.ended": _LEFT,
        "user.deleted": _LEFT,
        "account.deleted": _LEFT,
        "invitation.accepted": _ACCEPTED,
        "role.changed": _ROLE,
        "tenant.changed": _TENANT,
        "settings.changed": _TENANT,
    }
)
_PERMISSIONS: Mapping[str, str] = MappingProxyType({"members": "read:users", "roles": "read:roles"})
OF_ACCOUNT = frozenset({"user.changed", "email.changed"})
"""Audit actions that change an account, and so the member in each of its tenants."""


def identity_events(audit_action: str, names: Iterable[str] | None = None) -> Sequence[IdentityEvent]:
    """Return the named events, or those of an action of the audit trail, such as ``settings.changed:language``."""
    if names is not None:
        return [IDENTITY_EVENTS[name] for name in names]
    found = _BY_AUDIT_ACTION.get(audit_action.partition(":")[0])
    return [] if found is None else [found]


def row_of(line: AuditEvent) -> UUID | None:
    """Return the row of the events: the action's target, and for an accepted invitation the user who joined."""
    return line.actor_id if line.action == "invitation.accepted" else line.target_id


def event_name(plural: str, action: str) -> str:
    """Return the name of an event for webhooks: ``orders.changed`` or ``member.joined``."""
    names = (event.name for event in IDENTITY_EVENTS.values() if (event.entity, event.action) == (plural, action))
    return next(names, f"{plural}.{action}")


def may_read_identity(plural: str, rights: Rights) -> bool:
    """Return whether a member with these rights may read the events; those of the tenant are for all members."""
    return plural not in _PERMISSIONS or rights.may(_PERMISSIONS[plural])


def ensure_may_read_identity(plural: str, caller: Caller) -> None:
    """Raise Forbidden if the caller may not read the events."""
    if plural in _PERMISSIONS:
        caller.ensure_may(_PERMISSIONS[plural])
