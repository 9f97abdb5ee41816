"""The view of members."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("""
        CREATE VIEW members WITH (security_invoker = true) AS
        SELECT m.tenant_id, m.user_id AS id, u.full_name, u.profile_picture_url, m.joined_at
        FROM memberships m JOIN users u ON u.id = m.user_id""")
    op.execute("REVOKE ALL ON members FROM tenantry_service")
    op.execute("GRANT SELECT ON members TO tenantry_service")


def downgrade() -> None:
    op.execute("DROP VIEW members")
