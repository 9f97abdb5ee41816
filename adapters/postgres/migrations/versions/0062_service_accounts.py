"""Service accounts with their roles, and the API keys that they call with."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from adapters.postgres.migrations.operations import secure_table

revision = "0062"
down_revision = "0065"

TEXT = sa.Text(collation="C")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "service_accounts",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("description", TEXT, nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("deleted_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_service_accounts_tenant_id"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_service_accounts"),
    )
    secure_table("service_accounts", by_tenant=True)
    op.create_index(
        "uq_service_accounts_name",
        "service_accounts",
        ["tenant_id", sa.literal_column('lower(name COLLATE "default")')],
        unique=True,
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
    op.create_table(
        "service_account_roles",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("role_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "account_id"],
            ["service_accounts.tenant_id", "service_accounts.id"],
            name="fk_service_account_roles_tenant_id_account_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["role_id"], ["roles.id"], name="fk_service_account_roles_role_id"),
        sa.PrimaryKeyConstraint("tenant_id", "account_id", "role_id", name="pk_service_account_roles"),
    )
    secure_table("service_account_roles", by_tenant=True)
    op.create_index("ix_service_account_roles_role_id", "service_account_roles", ["role_id"], unique=False)
    _create_keys()


def _create_keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("start", TEXT, nullable=False),
        sa.Column("permissions", sa.ARRAY(TEXT), nullable=True),
        sa.Column("networks", sa.ARRAY(postgresql.CIDR()), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("expires_at", TIME, nullable=True),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("warned_at", TIME, nullable=True),
        sa.Column("last_used_at", TIME, nullable=True),
        sa.Column("last_used_address", TEXT, nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id", "account_id"],
            ["service_accounts.tenant_id", "service_accounts.id"],
            name="fk_api_keys_tenant_id_account_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
    )
    secure_table("api_keys", by_tenant=True)
    op.create_index("uq_api_keys_hash", "api_keys", ["hash"], unique=True)
    op.create_index("ix_api_keys_account_id", "api_keys", ["tenant_id", "account_id"], unique=False)
    op.create_index("ix_api_keys_end", "api_keys", [sa.literal_column("LEAST(ended_at, expires_at)")], unique=False)
    op.create_index(
        "ix_api_keys_unwarned", "api_keys", ["expires_at"], unique=False, postgresql_where=sa.text("warned_at IS NULL")
    )
