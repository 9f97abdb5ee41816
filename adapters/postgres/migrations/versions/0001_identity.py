"""Users, tenants, roles, sessions and what belongs to them; and the role that the service runs as."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from adapters.postgres.migrations.operations import index_trigrams, make_service_role, secure_table

revision = "0001"
down_revision = None


def upgrade() -> None:
    make_service_role()
    op.create_table(
        "login_attempts",
        sa.Column("email_key", sa.Text(collation="C"), nullable=False),
        sa.Column("network", sa.Text(collation="C"), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("locks_at", sa.Integer(), nullable=False),
        sa.Column("locked_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("email_key", "network", name="pk_login_attempts"),
    )
    secure_table("login_attempts", by_tenant=False)
    op.create_table(
        "permissions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("description", sa.Text(collation="C"), nullable=False),
        sa.Column("category", sa.Text(collation="C"), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_permissions"),
    )
    secure_table("permissions", by_tenant=False)
    op.create_index("uq_permissions_name", "permissions", ["name"], unique=True)
    op.create_table(
        "revocation_counts",
        sa.Column("subject", sa.Text(collation="C"), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("subject", name="pk_revocation_counts"),
    )
    secure_table("revocation_counts", by_tenant=False)
    op.create_table(
        "signing_keys",
        sa.Column("kid", sa.Text(collation="C"), nullable=False),
        sa.Column("public", sa.Text(collation="C"), nullable=False),
        sa.Column("sealed", sa.Text(collation="C"), nullable=False),
        sa.Column("active_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("is_first", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.PrimaryKeyConstraint("kid", name="pk_signing_keys"),
    )
    secure_table("signing_keys", by_tenant=False)
    op.create_index(
        "uq_signing_keys_first", "signing_keys", ["is_first"], unique=True, postgresql_where=sa.text("is_first")
    )
    op.create_table(
        "tenants",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("identifier", sa.Text(collation="C"), nullable=False),
        sa.Column("domain", sa.Text(collation="C"), nullable=True),
        sa.Column("is_active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_tenants"),
    )
    secure_table("tenants", by_tenant=False)
    op.create_index("ix_tenants_created_at", "tenants", ["created_at", "id"], unique=False)
    op.create_index(
        "uq_tenants_identifier", "tenants", ["identifier"], unique=True, postgresql_where=sa.text("deleted_at IS NULL")
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.Text(collation="C"), nullable=False),
        sa.Column("email_key", sa.Text(collation="C"), nullable=False),
        sa.Column("full_name", sa.Text(collation="C"), nullable=False),
        sa.Column("phone_number", sa.Text(collation="C"), nullable=True),
        sa.Column("profile_picture_url", sa.Text(collation="C"), nullable=True),
        sa.Column("password_hash", sa.Text(collation="C"), nullable=True),
        sa.Column("email_confirmed", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("must_change_password", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("password_set_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_login_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
    )
    secure_table("users", by_tenant=False)
    op.create_index("ix_users_created_at", "users", ["created_at", "id"], unique=False)
    op.create_index("ix_users_email", "users", ["email", "id"], unique=False)
    op.create_index("ix_users_full_name", "users", ["full_name", "id"], unique=False)
    op.create_index("ix_users_last_login_at", "users", ["last_login_at", "id"], unique=False)
    op.create_index("uq_users_email", "users", ["email_key"], unique=True)
    op.create_table(
        "memberships",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("is_default", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_memberships_tenant_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_memberships_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="pk_memberships"),
    )
    secure_table("memberships", by_tenant=True)
    op.create_index("ix_memberships_user_id", "memberships", ["user_id"], unique=False)
    op.create_index(
        "uq_memberships_default", "memberships", ["user_id"], unique=True, postgresql_where=sa.text("is_default")
    )
    op.create_table(
        "roles",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=True),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("description", sa.Text(collation="C"), nullable=False),
        sa.Column("permissions", sa.ARRAY(sa.Text(collation="C")), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_roles_tenant_id"),
        sa.PrimaryKeyConstraint("id", name="pk_roles"),
    )
    secure_table("roles", by_tenant=True)
    op.create_index(
        "uq_roles_name",
        "roles",
        ["tenant_id", sa.literal_column('lower(name COLLATE "default")')],
        unique=True,
        postgresql_nulls_not_distinct=True,
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=True),
        sa.Column("counter", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rotated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("app_id", sa.Text(collation="C"), nullable=True),
        sa.Column("address", sa.Text(collation="C"), nullable=False),
        sa.Column("device", sa.Text(collation="C"), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sessions_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    secure_table("sessions", by_tenant=False)
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"], unique=False)
    op.create_table(
        "membership_roles",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("role_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["role_id"], ["roles.id"], name="fk_membership_roles_role_id"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id"],
            ["memberships.tenant_id", "memberships.user_id"],
            name="fk_membership_roles_tenant_id_user_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "role_id", name="pk_membership_roles"),
    )
    secure_table("membership_roles", by_tenant=True)
    op.create_index("ix_membership_roles_role_id", "membership_roles", ["role_id"], unique=False)
    op.create_table(
        "user_roles",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("role_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["role_id"], ["roles.id"], name="fk_user_roles_role_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_user_roles_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "role_id", name="pk_user_roles"),
    )
    secure_table("user_roles", by_tenant=False)
    op.create_index("ix_user_roles_role_id", "user_roles", ["role_id"], unique=False)
    index_trigrams("ix_users_search", "users", "lower((full_name || ' ' || email) COLLATE \"default\")")
