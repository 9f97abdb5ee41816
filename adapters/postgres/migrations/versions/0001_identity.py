"""The service's tables, and its role."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from adapters.postgres.migrations.online.search_indexes import index_search
from adapters.postgres.migrations.operations import index_trigrams, make_first_parts, make_service_role, secure_table

revision = "0001"
down_revision = None

TEXT = sa.Text(collation="C")
TIME = sa.DateTime(timezone=True)
UUID = sa.Uuid()


def upgrade() -> None:
    make_service_role()
    _make_users()
    _make_tenants()
    _make_ways_into_tenants()
    _make_service_accounts()
    _make_sessions()
    _make_trails()


def _make_users() -> None:
    op.create_table(
        "users",
        sa.Column("id", UUID, nullable=False),
        sa.Column("email", TEXT, nullable=False),
        sa.Column("email_key", TEXT, nullable=False),
        sa.Column("full_name", TEXT, nullable=False),
        sa.Column("phone_number", TEXT),
        sa.Column("profile_picture_url", TEXT),
        sa.Column("password_hash", TEXT),
        sa.Column("email_confirmed", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("email_proved", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("must_change_password", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("password_set_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("last_login_at", TIME),
        sa.Column("email_proved_at", TIME),
        sa.Column("webauthn_handle", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
    )
    secure_table("users", by_tenant=False)
    op.create_index("ix_users_created_at", "users", ["created_at", "id"])
    op.create_index("ix_users_email", "users", ["email", "id"])
    op.create_index("ix_users_full_name", "users", ["full_name", "id"])
    _partial_index("ix_users_imported", "users", ["id"], "password_hash LIKE 'foreign:%'")
    op.create_index("ix_users_is_active", "users", ["is_active", "id"])
    op.create_index("ix_users_is_active_down", "users", [sa.literal_column("is_active DESC"), "id"])
    op.create_index("ix_users_last_login_at", "users", ["last_login_at", "id"])
    op.create_index("ix_users_last_login_at_down", "users", [sa.literal_column("last_login_at DESC"), "id"])
    op.create_index("ix_users_updated_at", "users", ["updated_at", "id"])
    op.create_index("uq_users_email", "users", ["email_key"], unique=True)
    index_trigrams("ix_users_search", "users", "lower((full_name || ' ' || email) COLLATE \"default\")")
    op.create_table(
        "social_identities",
        sa.Column("provider", TEXT, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("linked_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_social_identities_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("provider", "subject", name="pk_social_identities"),
    )
    secure_table("social_identities", by_tenant=False)
    op.create_index("ix_social_identities_user_id", "social_identities", ["user_id"])
    op.create_table(
        "factors",
        sa.Column("id", UUID, nullable=False),
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME),
        sa.Column("sealed", TEXT),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("credential_id", sa.LargeBinary()),
        sa.Column("public_key", sa.LargeBinary()),
        sa.Column("counter", sa.BigInteger()),
        sa.Column("transports", sa.ARRAY(TEXT)),
        sa.Column("aaguid", UUID),
        sa.Column("backup_eligible", sa.Boolean()),
        sa.Column("backed_up", sa.Boolean()),
        sa.Column("uv_initialized", sa.Boolean()),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_factors_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_factors"),
    )
    secure_table("factors", by_tenant=False)
    op.create_index("ix_factors_user_id", "factors", ["user_id"])
    op.create_index("uq_factors_credential_id", "factors", ["credential_id"], unique=True)
    op.create_table(
        "recovery_codes",
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("used_at", TIME),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_recovery_codes_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "hash", name="pk_recovery_codes"),
    )
    secure_table("recovery_codes", by_tenant=False)
    op.create_table(
        "login_attempts",
        sa.Column("email_key", TEXT, nullable=False),
        sa.Column("network", TEXT, nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("locks_at", sa.Integer(), nullable=False),
        sa.Column("locks", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("locked_until", TIME),
        sa.Column("known_at", TIME),
        sa.Column("tried_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("email_key", "network", name="pk_login_attempts"),
    )
    secure_table("login_attempts", by_tenant=False)
    _partial_index("ix_login_attempts_tried_at", "login_attempts", ["tried_at"], "known_at IS NULL")
    _partial_index("ix_login_attempts_tried_at_known", "login_attempts", ["tried_at"], "known_at IS NOT NULL")
    op.create_table(
        "email_changes",
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("email", TEXT, nullable=False),
        sa.Column("email_key", TEXT, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.Column("requested_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("mailed_at", sa.ARRAY(TIME), server_default=sa.text("'{}'"), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_email_changes_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", name="pk_email_changes"),
    )
    secure_table("email_changes", by_tenant=False)
    op.create_index("ix_email_changes_expires_at", "email_changes", ["expires_at"])
    op.create_index("uq_email_changes_hash", "email_changes", ["hash"], unique=True)
    op.create_table(
        "one_time_tokens",
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("purpose", TEXT, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("email_key", TEXT, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.Column("issued_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("used_at", TIME),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_one_time_tokens_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "purpose", "number", name="pk_one_time_tokens"),
    )
    secure_table("one_time_tokens", by_tenant=False)
    op.create_index("ix_one_time_tokens_expires_at", "one_time_tokens", ["expires_at"])
    op.create_index("uq_one_time_tokens_hash", "one_time_tokens", ["hash"], unique=True)
    op.create_table(
        "outbox",
        sa.Column("id", UUID, nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("recipient", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("address", TEXT, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("due_at", TIME, nullable=False),
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("given_up_at", TIME),
        sa.Column("why", TEXT, server_default=sa.text("''"), nullable=False),
        sa.Column("tried_again_at", TIME),
        sa.Column("about", TEXT, server_default=sa.text("''"), nullable=False),
        sa.Column("language", TEXT, server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
    )
    secure_table("outbox", by_tenant=False)
    _partial_index("ix_outbox_due", "outbox", ["due_at", "number"], "given_up_at IS NULL")
    _partial_index("ix_outbox_given_up_at", "outbox", ["given_up_at"], "given_up_at IS NOT NULL")
    op.create_index("ix_outbox_number", "outbox", ["number"])


def _make_tenants() -> None:
    op.create_table(
        "tenants",
        sa.Column("id", UUID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("identifier", TEXT, nullable=False),
        sa.Column("domain", TEXT),
        sa.Column("is_active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("settings", postgresql.JSONB(), nullable=False),
        sa.Column("deleted_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_tenants"),
    )
    secure_table("tenants", by_tenant=False)
    op.create_index("ix_tenants_created_at", "tenants", ["created_at", "id"])
    _partial_index("uq_tenants_identifier", "tenants", ["identifier"], "deleted_at IS NULL", unique=True)
    op.create_table(
        "memberships",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("is_default", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("joined_at", TIME, nullable=False),
        sa.Column("is_owner", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("sessions_ended_at", TIME),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_memberships_tenant_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_memberships_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="pk_memberships"),
    )
    secure_table("memberships", by_tenant=True)
    _partial_index("ix_memberships_owners", "memberships", ["tenant_id"], "is_owner")
    op.create_index("ix_memberships_user_id", "memberships", ["user_id"])
    _partial_index("uq_memberships_default", "memberships", ["user_id"], "is_default", unique=True)
    op.create_table(
        "roles",
        sa.Column("id", UUID, nullable=False),
        sa.Column("tenant_id", UUID),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("description", TEXT, nullable=False),
        sa.Column("permissions", sa.ARRAY(TEXT), nullable=False),
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
        "membership_roles",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("role_id", UUID, nullable=False),
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
    op.create_index("ix_membership_roles_role", "membership_roles", ["role_id", "tenant_id"])
    op.create_table(
        "user_roles",
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("role_id", UUID, nullable=False),
        sa.ForeignKeyConstraint(["role_id"], ["roles.id"], name="fk_user_roles_role_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_user_roles_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "role_id", name="pk_user_roles"),
    )
    secure_table("user_roles", by_tenant=False)
    op.create_index("ix_user_roles_role_id", "user_roles", ["role_id"])
    op.create_table(
        "permissions",
        sa.Column("id", UUID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("description", TEXT, nullable=False),
        sa.Column("category", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_permissions"),
    )
    secure_table("permissions", by_tenant=False)
    op.create_index("uq_permissions_name", "permissions", ["name"], unique=True)


def _make_ways_into_tenants() -> None:
    op.create_table(
        "invitations",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("id", UUID, nullable=False),
        sa.Column("email", TEXT, nullable=False),
        sa.Column("email_key", TEXT, nullable=False),
        sa.Column("role_ids", sa.ARRAY(UUID), nullable=False),
        sa.Column("invited_by", UUID, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.Column("status", TEXT, server_default=sa.text("'pending'"), nullable=False),
        sa.Column("ended_at", TIME),
        sa.Column("accepted_by", UUID),
        sa.Column("mailed_at", sa.ARRAY(TIME), server_default=sa.text("'{}'"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_invitations_tenant_id"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_invitations"),
    )
    secure_table("invitations", by_tenant=True)
    op.create_index("ix_invitations_created_at", "invitations", ["tenant_id", "created_at"])
    op.create_index("ix_invitations_email_key", "invitations", ["email_key"])
    op.create_index("ix_invitations_end", "invitations", [sa.literal_column("coalesce(ended_at, expires_at)")])
    op.create_index("uq_invitations_hash", "invitations", ["hash"], unique=True)
    _partial_index(
        "uq_invitations_pending", "invitations", ["tenant_id", "email_key"], "status = 'pending'", unique=True
    )
    op.create_table(
        "tenant_domains",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("domain", TEXT, nullable=False),
        sa.Column("mode", TEXT, nullable=False),
        sa.Column("role_ids", sa.ARRAY(UUID), nullable=False),
        sa.Column("proof", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("set_by", UUID),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("checked_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_tenant_domains_tenant_id"),
        sa.PrimaryKeyConstraint("tenant_id", "domain", name="pk_tenant_domains"),
    )
    secure_table("tenant_domains", by_tenant=True)
    _partial_index("ix_tenant_domains_checked_at", "tenant_domains", ["checked_at"], "state = 'verified'")
    _partial_index("uq_tenant_domains_verified", "tenant_domains", ["domain"], "state = 'verified'", unique=True)
    op.create_table(
        "join_requests",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("domain", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("ended_at", TIME),
        sa.Column("ended_by", UUID),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_join_requests_tenant_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_join_requests_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="pk_join_requests"),
    )
    secure_table("join_requests", by_tenant=True)
    op.create_index("ix_join_requests_end", "join_requests", [sa.literal_column("coalesce(ended_at, created_at)")])
    _partial_index("ix_join_requests_pending", "join_requests", ["tenant_id", "created_at"], "status = 'pending'")
    op.create_index("ix_join_requests_user_id", "join_requests", ["user_id"])
    op.create_table(
        "former_members",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("user_id", UUID, nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_former_members_tenant_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_former_members_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="pk_former_members"),
    )
    secure_table("former_members", by_tenant=True)
    op.create_index("ix_former_members_user_id", "former_members", ["user_id"])
    op.create_table(
        "former_addresses",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("marked_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_former_addresses_tenant_id"),
        sa.PrimaryKeyConstraint("tenant_id", "digest", name="pk_former_addresses"),
    )
    secure_table("former_addresses", by_tenant=True)
    op.create_index("ix_former_addresses_marked_at", "former_addresses", ["marked_at"])


def _make_service_accounts() -> None:
    op.create_table(
        "service_accounts",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("id", UUID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("description", TEXT, nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", UUID),
        sa.Column("deleted_at", TIME),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_service_accounts_tenant_id"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_service_accounts"),
    )
    secure_table("service_accounts", by_tenant=True)
    _partial_index(
        "uq_service_accounts_name",
        "service_accounts",
        ["tenant_id", sa.literal_column('lower(name COLLATE "default")')],
        "deleted_at IS NULL",
        unique=True,
    )
    op.create_table(
        "service_account_roles",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("account_id", UUID, nullable=False),
        sa.Column("role_id", UUID, nullable=False),
        sa.ForeignKeyConstraint(["role_id"], ["roles.id"], name="fk_service_account_roles_role_id"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "account_id"],
            ["service_accounts.tenant_id", "service_accounts.id"],
            name="fk_service_account_roles_tenant_id_account_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "account_id", "role_id", name="pk_service_account_roles"),
    )
    secure_table("service_account_roles", by_tenant=True)
    op.create_index("ix_service_account_roles_role_id", "service_account_roles", ["role_id"])
    op.create_table(
        "api_keys",
        sa.Column("id", UUID, nullable=False),
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("account_id", UUID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("start", TEXT, nullable=False),
        sa.Column("permissions", sa.ARRAY(TEXT)),
        sa.Column("networks", sa.ARRAY(postgresql.CIDR())),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", UUID),
        sa.Column("expires_at", TIME),
        sa.Column("ended_at", TIME),
        sa.Column("warned_at", TIME),
        sa.Column("last_used_at", TIME),
        sa.Column("last_used_address", TEXT),
        sa.ForeignKeyConstraint(
            ["tenant_id", "account_id"],
            ["service_accounts.tenant_id", "service_accounts.id"],
            name="fk_api_keys_tenant_id_account_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
    )
    secure_table("api_keys", by_tenant=True)
    op.create_index("ix_api_keys_account_id", "api_keys", ["tenant_id", "account_id"])
    op.create_index("ix_api_keys_end", "api_keys", [sa.literal_column("LEAST(ended_at, expires_at)")])
    _partial_index("ix_api_keys_unwarned", "api_keys", ["expires_at"], "warned_at IS NULL")
    op.create_index("uq_api_keys_hash", "api_keys", ["hash"], unique=True)


def _make_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", UUID, nullable=False),
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("tenant_id", UUID),
        sa.Column("counter", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("rotated_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        sa.Column("app_id", TEXT),
        sa.Column("address", TEXT, nullable=False),
        sa.Column("device", TEXT, nullable=False),
        sa.Column("methods", sa.ARRAY(TEXT), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("authenticated_at", TIME),
        sa.Column("is_first_login", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sessions_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    secure_table("sessions", by_tenant=False)
    op.create_index("ix_sessions_created_at", "sessions", ["created_at"])
    _partial_index("ix_sessions_ended_at", "sessions", ["ended_at"], "ended_at IS NOT NULL")
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_table(
        "revocation_counts",
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("raised_at", TIME),
        sa.Column("ended_at", TIME),
        sa.PrimaryKeyConstraint("subject", name="pk_revocation_counts"),
    )
    secure_table("revocation_counts", by_tenant=False)
    _partial_index("ix_revocation_counts_ended_at", "revocation_counts", ["ended_at"], "ended_at IS NOT NULL")
    _partial_index("ix_revocation_counts_raised_at", "revocation_counts", ["raised_at"], "raised_at IS NOT NULL")
    op.create_table(
        "signing_keys",
        sa.Column("kid", TEXT, nullable=False),
        sa.Column("public", TEXT, nullable=False),
        sa.Column("sealed", TEXT, nullable=False),
        sa.Column("active_from", TIME, nullable=False),
        sa.Column("purpose", TEXT, server_default=sa.text("'EdDSA'"), nullable=False),
        sa.Column("is_first", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("kid", name="pk_signing_keys"),
    )
    secure_table("signing_keys", by_tenant=False)
    _partial_index("uq_signing_keys_first", "signing_keys", ["purpose"], "is_first", unique=True)
    op.create_table(
        "spent_ids",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_spent_ids"),
    )
    secure_table("spent_ids", by_tenant=False)
    op.create_index("ix_spent_ids_expires_at", "spent_ids", ["expires_at"])
    op.create_table(
        "applications",
        sa.Column("id", UUID, nullable=False),
        sa.Column("app_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("allowed_tenant_ids", sa.ARRAY(UUID)),
        sa.Column("required_permission", TEXT),
        sa.Column("redirect_urls", sa.ARRAY(TEXT)),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("created_by", UUID),
        sa.Column("updated_by", UUID),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("deleted_at", TIME),
        sa.Column("deleted_by", UUID),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("deleted_with", UUID),
        sa.PrimaryKeyConstraint("id", name="pk_applications"),
    )
    secure_table("applications", by_tenant=False)
    _partial_index("ix_applications_order", "applications", ["created_at", "id"], "NOT is_deleted")
    _partial_index("uq_applications_app_id", "applications", ["app_id"], "NOT is_deleted", unique=True)
    index_search("applications", ["name"], by_tenant=False)


def _make_trails() -> None:
    op.create_table(
        "audit_events",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("id", UUID, nullable=False),
        sa.Column("actor_id", UUID),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("target_id", UUID),
        sa.Column("address", TEXT),
        sa.Column("request_id", TEXT),
        sa.Column("occurred_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_audit_events"),
        postgresql_partition_by="RANGE (id)",
    )
    secure_table("audit_events", by_tenant=True)
    op.create_index("ix_audit_events_order", "audit_events", ["tenant_id", "occurred_at", "id"])
    make_first_parts("audit_events")
    op.create_table(
        "row_history",
        sa.Column("tenant_id", UUID),
        sa.Column("entity", TEXT, nullable=False),
        sa.Column("row_id", UUID, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("by", UUID),
        sa.Column("changes", postgresql.JSON(), nullable=False),
        postgresql_partition_by="RANGE (at)",
    )
    secure_table("row_history", by_tenant=True)
    op.create_index("ix_row_history_at", "row_history", ["at"], postgresql_using="brin")
    op.create_index("ix_row_history_row", "row_history", ["tenant_id", "entity", "row_id", "version"])
    make_first_parts("row_history")
    op.create_table(
        "kept_answers",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("answer", sa.LargeBinary()),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "key", name="pk_kept_answers"),
    )
    secure_table("kept_answers", by_tenant=True)
    op.create_index("ix_kept_answers_at", "kept_answers", ["at"])


def _partial_index(name: str, table: str, columns: list[Any], where: str, *, unique: bool = False) -> None:
    op.create_index(name, table, columns, unique=unique, postgresql_where=sa.text(where))


def downgrade() -> None:
    op.execute(
        "DROP TABLE users, social_identities, factors, recovery_codes, login_attempts, email_changes, one_time_tokens,"
        " outbox, tenants, memberships, roles, membership_roles, user_roles, permissions, invitations, tenant_domains,"
        " join_requests, former_members, former_addresses, service_accounts, service_account_roles, api_keys, sessions,"
        " revocation_counts, signing_keys, spent_ids, applications, audit_events, row_history, kept_answers"
    )
    op.execute("DROP SCHEMA IF EXISTS tenantry_search CASCADE")
