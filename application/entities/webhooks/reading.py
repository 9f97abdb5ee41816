"""What a webhook's service account may read of an entry of the log, at this moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Raw, Struct

from application.entities.guarded_fields import GuardedFields
from application.ports.entities.changes import LogEntry
from domain.entities.changes.feeds import IDENTITY_ENTITIES
from domain.entities.changes.identity_events import event_name, may_read_identity
from domain.entities.changes.seeing import IS_DELETED, WITHOUT_ROW, changed_fields, members_of
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import Mine
from domain.entities.owning import limits_of
from domain.identity.service_accounts import ServiceAccount
from domain.scope import Caller, OwnRows

SHARES = frozenset({"shared", "unshared"})


class Event(Struct, frozen=True):
    """An event as its reader sees it.

    ``object`` is the row's JSON, None if there is none to send. ``needs_row`` says that the event may be sent only if
    its reader sees the row now, because a rule beyond the row's fields decides.
    """

    action: str
    changed: Sequence[str]
    object: Raw | None
    is_truncated: bool
    needs_row: bool

    def named(self, entity: str) -> str:
        return event_name(entity, self.action)


def caller_of(account: ServiceAccount) -> Caller:
    """Return the account as a caller with all its permissions."""
    return Caller(
        user_id=account.id,
        session_id=account.id,
        tenant_id=account.tenant_id,
        name=account.name,
        email="",
        roles=tuple(sorted(role.name for role in account.roles)),
        permissions=account.permissions,
        is_super_admin=account.is_super_admin,
        app_id=None,
        issued={},
        expires_at=0,
        kind="service",
    )


@dataclass(frozen=True)
class EventReader:
    """Reads entries with the rights of a service account."""

    registry: Registry
    account: ServiceAccount

    @cached_property
    def caller(self) -> Caller:
        return caller_of(self.account)

    @cached_property
    def readable(self) -> frozenset[str]:
        """Entities with rows that the account may read."""
        rights = self.caller.rights
        models = (model for model in self.registry if model.declaration.changes)
        readable = {model.plural for model in models if rights.may(*model.permissions("read"))}
        return frozenset({*readable, *(plural for plural in IDENTITY_ENTITIES if may_read_identity(plural, rights))})

    @property
    def own_rows(self) -> OwnRows:
        """Scope of the rows that the account sees."""
        limits, tenant = limits_of(self.registry, self.caller.rights), self.caller.tenant
        return OwnRows(tenant.id, tenant.sees_all, user_id=self.account.id, sees=limits.sees, touches=limits.touches)

    def event(self, entry: LogEntry) -> Event | None:
        """Return the event of an entry, None if the account may not read it."""
        # Shares are of members, so they concern no service account.
        if entry.entity not in self.readable or entry.action in SHARES:
            return None
        if entry.entity in IDENTITY_ENTITIES:
            return Event(entry.action, (), entry.data, is_truncated=False, needs_row=False)
        model = self.registry[entry.entity]
        after = _members(entry.data)
        # Security: without a permission for deleted rows, their changes are unseen too.
        is_unseen = entry.action == "changed" and after.get(IS_DELETED.wire) is True
        if is_unseen or not self._is_shared_with_tenant(model, after):
            return None
        if model.plural in limits_of(self.registry, self.caller.rights).sees:
            return self._own_event(model, entry, after)
        return self._event(model, entry, entry.action)

    def _own_event(self, model: EntityModel, entry: LogEntry, after: Mapping[str, Any]) -> Event | None:
        """Evaluate the rules on fields of the row; further rules need the row itself."""
        now = self._is_mine(model, after)
        before = self._is_mine(model, {**after, **_members(entry.was)}) if entry.action == "changed" else now
        if now or before:
            return self._event(model, entry, entry.action if now and before else "entered" if now else "left")
        needs_more = model.declaration.shared or any(not isinstance(rule, Mine) for rule in model.declaration.own)
        # A large entry has no fields, so only the row can decide.
        if (needs_more or entry.data is None) and entry.action not in WITHOUT_ROW:
            return self._event(model, entry, entry.action, needs_row=True)
        return None

    def _is_mine(self, model: EntityModel, members: Mapping[str, Any]) -> bool:
        fields = (rule.field for rule in model.declaration.own if isinstance(rule, Mine))
        wires = [model.by_name[field].wire for field in fields]
        return any(members.get(wire) == str(self.account.id) for wire in wires)

    def _is_shared_with_tenant(self, model: EntityModel, members: Mapping[str, Any]) -> bool:
        name = model.declaration.shared_with
        tenants = None if name is None else members.get(model.by_name[name].wire)
        return self.caller.is_super_admin or tenants is None or str(self.account.tenant_id) in tenants

    def _event(self, model: EntityModel, entry: LogEntry, action: str, *, needs_row: bool = False) -> Event:
        fields = GuardedFields(model, self.registry)
        hidden = fields.hidden_from(self.caller)
        changed = changed_fields(model, members_of(entry.was), hidden)
        has_row = action not in WITHOUT_ROW
        row = fields.readable(self.caller, entry.data) if has_row and entry.data is not None else None
        return Event(action, changed, None if row is None else Raw(row), has_row and row is None, needs_row)


def _members(json: Raw | None) -> dict[str, Any]:
    return {} if json is None else msgspec.json.decode(json)
