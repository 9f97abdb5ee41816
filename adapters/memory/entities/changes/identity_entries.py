"""Entries of the log for members, roles and tenants, in the form that their lists return."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from uuid import UUID

from msgspec import to_builtins

from adapters.memory.entities.changes.log import add_entry
from adapters.memory.entities.row_json import encoded
from adapters.memory.store import Store
from application.ports.entities.changes import LogEntry
from domain.entities.changes.identity_events import OF_ACCOUNT, IdentityEvent, row_of
from domain.scope import AuditEvent

_Json = Mapping[str, object]
_SECRET = frozenset({"security", "customSettings"})


def log_identity(store: Store, tenants: Iterable[UUID], line: AuditEvent, events: Iterable[IdentityEvent]) -> None:
    """Add an entry for each event of the recorded action."""
    row_id = row_of(line)
    assert row_id is not None
    for event in events:
        of_member = [*store.memberships] if line.action in OF_ACCOUNT else [(row_id, each) for each in tenants]
        for tenant_id, data in _rows(store, event, row_id, [each for user_id, each in of_member if user_id == row_id]):
            entry = LogEntry(
                position=0,
                entity=event.entity,
                row_id=row_id,
                version=0,
                action=event.action,
                at=line.occurred_at,
                by=line.actor_id,
                data=None if data is None else encoded(data),
            )
            add_entry(store.tables, tenant_id, entry)


def _rows(
    store: Store, event: IdentityEvent, row_id: UUID, tenants: Iterable[UUID]
) -> Iterator[tuple[UUID | None, _Json | None]]:
    """Yield the row of each tenant."""
    if event.action == "left":
        yield from ((tenant_id, None) for tenant_id in sorted(set(tenants)))
    elif event.entity == "members":
        held = [tenant_id for tenant_id in sorted(set(tenants)) if (row_id, tenant_id) in store.memberships]
        yield from ((tenant_id, _member(store, row_id, tenant_id)) for tenant_id in held)
    elif event.entity == "roles":
        yield from ((role.tenant_id, _role(store, row_id)) for role in [store.roles[row_id]])
    else:
        yield row_id, _tenant(store, row_id)


def _member(store: Store, user_id: UUID, tenant_id: UUID) -> _Json:
    user, held = store.users[user_id], store.memberships[user_id, tenant_id]
    return {
        "id": user.id,
        "email": user.email,
        "fullName": user.full_name,
        "roles": sorted(store.roles[role_id].name for role_id in held.role_ids if role_id in store.roles),
        "isActive": user.is_active,
        "createdAt": _time(user.created_at),
    }


def _role(store: Store, role_id: UUID) -> _Json:
    role = store.roles[role_id]
    return {
        "id": role.id,
        "name": role.name,
        "description": role.description,
        "permissions": role.permissions,
        "isSystem": role.is_system,
    }


def _tenant(store: Store, tenant_id: UUID) -> _Json:
    tenant = store.tenants[tenant_id]
    settings = {name: value for name, value in to_builtins(tenant.settings).items() if name not in _SECRET}
    return {
        "id": tenant.id,
        "name": tenant.name,
        "identifier": tenant.identifier,
        "domain": tenant.domain,
        "isActive": tenant.is_active,
        "createdAt": _time(tenant.created_at),
        "settings": settings,
    }


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
