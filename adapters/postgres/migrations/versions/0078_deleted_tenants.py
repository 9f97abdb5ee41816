"""Deleted tenants hold no roles, domains and defaults any more: each default moves to a living tenant of its user."""

from alembic import op

revision = "0078"
down_revision = "0077"

_TAKE_ROLES = """
DELETE FROM membership_roles h USING tenants t WHERE t.id = h.tenant_id AND t.deleted_at IS NOT NULL"""
_TAKE_ROLES_OF_ACCOUNTS = """
DELETE FROM service_account_roles h USING tenants t WHERE t.id = h.tenant_id AND t.deleted_at IS NOT NULL"""
_TAKE_DOMAINS = """
DELETE FROM tenant_domains d USING tenants t WHERE t.id = d.tenant_id AND t.deleted_at IS NOT NULL"""
_UNMARK = """
UPDATE memberships m SET is_default = false FROM tenants t
WHERE t.id = m.tenant_id AND t.deleted_at IS NOT NULL AND m.is_default"""
_MARK_OLDEST = """
UPDATE memberships m SET is_default = true
FROM (
    SELECT DISTINCT ON (o.user_id) o.user_id, o.tenant_id
    FROM memberships o JOIN tenants t ON t.id = o.tenant_id AND t.deleted_at IS NULL
    WHERE NOT EXISTS (SELECT FROM memberships d WHERE d.user_id = o.user_id AND d.is_default)
    ORDER BY o.user_id, o.joined_at, o.tenant_id) oldest
WHERE m.user_id = oldest.user_id AND m.tenant_id = oldest.tenant_id"""


def upgrade() -> None:
    for statement in (_TAKE_ROLES, _TAKE_ROLES_OF_ACCOUNTS, _TAKE_DOMAINS, _UNMARK, _MARK_OLDEST):
        op.execute(statement)
