"""What tenants that are deleted already went on to hold: roles, defaults of their members, and domains."""

import sqlalchemy as sa
from alembic import op

revision = "0078"
down_revision = "0077"

_GIVE_UP = (
    "DELETE FROM membership_roles h USING tenants t WHERE t.id = h.tenant_id AND t.deleted_at IS NOT NULL",
    "DELETE FROM service_account_roles h USING tenants t WHERE t.id = h.tenant_id AND t.deleted_at IS NOT NULL",
    "DELETE FROM tenant_domains d USING tenants t WHERE t.id = d.tenant_id AND t.deleted_at IS NOT NULL",
    """
    UPDATE memberships m SET is_default = false FROM tenants t
    WHERE t.id = m.tenant_id AND t.deleted_at IS NOT NULL AND m.is_default""",
    # whoever has no default now, also by having left the living one: the mark went to a deleted tenant then
    """
    UPDATE memberships m SET is_default = true
    FROM (
        SELECT DISTINCT ON (o.user_id) o.user_id, o.tenant_id
        FROM memberships o JOIN tenants t ON t.id = o.tenant_id AND t.deleted_at IS NULL
        WHERE NOT EXISTS (SELECT FROM memberships d WHERE d.user_id = o.user_id AND d.is_default)
        ORDER BY o.user_id, o.joined_at, o.tenant_id) oldest
    WHERE m.user_id = oldest.user_id AND m.tenant_id = oldest.tenant_id""",
)


def upgrade() -> None:
    for statement in _GIVE_UP:
        op.execute(sa.text(statement))
