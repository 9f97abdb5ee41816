"""Models of service accounts and of their API keys."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import ForeignKey, ForeignKeyConstraint, Index, literal_column, text
from sqlalchemy.dialects.postgresql import CIDR
from sqlalchemy.orm import Mapped, mapped_column

from adapters.postgres.schema.declarative import DefaultTrue, IdentityBase, RowId, tables_of
from adapters.postgres.schema.sql import without_case


class ServiceAccountRow(IdentityBase):
    """Account of a tenant for a program. Deletion retains the row for its ended keys."""

    __tablename__ = "service_accounts"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    id: Mapped[RowId]
    name: Mapped[str]
    description: Mapped[str]
    is_active: Mapped[DefaultTrue]
    created_at: Mapped[datetime]
    # No foreign key: the creator may be a person or an account, and the row outlives both.
    created_by: Mapped[UUID | None]
    deleted_at: Mapped[datetime | None]

    __table_args__ = (
        Index(
            "uq_service_accounts_name",
            "tenant_id",
            literal_column(without_case("name")),
            unique=True,
            postgresql_where=text("deleted_at IS NULL"),
        ),
    )


class ServiceAccountRoleRow(IdentityBase):
    __tablename__ = "service_account_roles"

    tenant_id: Mapped[RowId]
    account_id: Mapped[RowId]
    role_id: Mapped[UUID] = mapped_column(ForeignKey("roles.id"), primary_key=True)

    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "account_id"], ["service_accounts.tenant_id", "service_accounts.id"], ondelete="CASCADE"
        ),
        Index("ix_service_account_roles_role_id", "role_id"),
    )


class ApiKeyRow(IdentityBase):
    """Key of a service account. The row stores only the hash of the key's text."""

    __tablename__ = "api_keys"

    id: Mapped[RowId]
    tenant_id: Mapped[UUID]
    account_id: Mapped[UUID]
    name: Mapped[str]
    hash: Mapped[bytes]
    start: Mapped[str]
    permissions: Mapped[list[str] | None]
    networks: Mapped[list[str] | None] = mapped_column(sa.ARRAY(CIDR()))
    created_at: Mapped[datetime]
    created_by: Mapped[UUID | None]
    expires_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    warned_at: Mapped[datetime | None]  # time of the expiry warning
    last_used_at: Mapped[datetime | None]
    last_used_address: Mapped[str | None]

    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "account_id"], ["service_accounts.tenant_id", "service_accounts.id"], ondelete="CASCADE"
        ),
        Index("uq_api_keys_hash", "hash", unique=True),
        Index("ix_api_keys_account_id", "tenant_id", "account_id"),
        Index("ix_api_keys_end", literal_column("LEAST(ended_at, expires_at)")),
        Index("ix_api_keys_unwarned", "expires_at", postgresql_where=text("warned_at IS NULL")),
    )


TABLES = tables_of(ServiceAccountRow, ServiceAccountRoleRow, ApiKeyRow)
