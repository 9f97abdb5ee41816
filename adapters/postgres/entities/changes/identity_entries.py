"""Entries of the log for members, roles and tenants, in the form that their lists return."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection
from domain.entities.changes.identity_events import OF_ACCOUNT, IdentityEvent, row_of
from domain.scope import AuditEvent

# Without tenants: the member in each tenant.
_MEMBER = """
INSERT INTO change_queue (tenant_id, entity, row_id, version, action, at, by, data)
SELECT m.tenant_id, 'members', u.id, 0, $1, $2, $3, json_build_object(
    'id', u.id, 'email', u.email, 'fullName', u.full_name, 'roles', (
        SELECT coalesce(json_agg(r.name ORDER BY r.name COLLATE "C"), '[]') FROM membership_roles h
        JOIN roles r ON r.id = h.role_id WHERE h.tenant_id = m.tenant_id AND h.user_id = u.id),
    'isActive', u.is_active,
    'createdAt', to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.user_id = $4 AND ($5::uuid[] IS NULL OR m.tenant_id = ANY ($5))
ORDER BY m.tenant_id"""
_LEFT = """
INSERT INTO change_queue (tenant_id, entity, row_id, version, action, at, by)
SELECT t, 'members', $4, 0, $1, $2, $3 FROM unnest($5::uuid[]) t"""
_ROLE = """
INSERT INTO change_queue (tenant_id, entity, row_id, version, action, at, by, data)
SELECT tenant_id, 'roles', id, 0, $1, $2, $3, json_build_object(
    'id', id, 'name', name, 'description', description, 'permissions', permissions, 'isSystem', tenant_id IS NULL)
FROM roles WHERE id = $4"""
# Security: only some members may read the login requirements, and the settings of the tenant's own programs.
_TENANT = """
INSERT INTO change_queue (tenant_id, entity, row_id, version, action, at, by, data)
SELECT id, 'tenants', id, 0, $1, $2, $3, json_build_object(
    'id', id, 'name', name, 'identifier', identifier, 'domain', domain, 'isActive', is_active,
    'createdAt', to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'settings', settings - 'security' - 'customSettings')
FROM tenants WHERE id = $4"""


async def log_identity(
    connection: ServiceConnection, tenants: Sequence[UUID], line: AuditEvent, events: Iterable[IdentityEvent]
) -> None:
    """Add an entry for each event of the recorded action."""
    for event in events:
        values = (event.action, line.occurred_at, line.actor_id, row_of(line))
        if event.action == "left":
            await connection.execute(_LEFT, *values, list(tenants))
        elif event.entity == "members":
            await connection.execute(_MEMBER, *values, None if line.action in OF_ACCOUNT else list(tenants))
        else:
            await connection.execute(_ROLE if event.entity == "roles" else _TENANT, *values)
