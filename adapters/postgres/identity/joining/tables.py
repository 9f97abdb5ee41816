"""Models of joining tenants."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import ForeignKey, Index, literal_column, text
from sqlalchemy.orm import Mapped, mapped_column

from adapters.postgres.schema.declarative import IdentityBase, RowId, TextKey, UserKey, tables_of


class InvitationRow(IdentityBase):
    """Invitation of an address to a tenant. It does not reference an account, because none may exist yet."""

    __tablename__ = "invitations"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    id: Mapped[RowId]
    email: Mapped[str]
    email_key: Mapped[str]
    role_ids: Mapped[list[UUID]] = mapped_column(sa.ARRAY(sa.Uuid()))
    invited_by: Mapped[UUID]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    hash: Mapped[str]
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    ended_at: Mapped[datetime | None]
    accepted_by: Mapped[UUID | None]
    mailed_at: Mapped[list[datetime]] = mapped_column(sa.ARRAY(sa.DateTime(timezone=True)), server_default=text("'{}'"))

    __table_args__ = (
        Index("uq_invitations_hash", "hash", unique=True),
        Index(
            "uq_invitations_pending",
            "tenant_id",
            "email_key",
            unique=True,
            postgresql_where=text("status = 'pending'"),
        ),
        Index("ix_invitations_email_key", "email_key"),
        Index("ix_invitations_created_at", "tenant_id", "created_at"),
        Index("ix_invitations_end", literal_column("coalesce(ended_at, expires_at)")),
    )


class TenantDomainRow(IdentityBase):
    """Domain of a tenant. Several tenants may wait for its proof, but only one has it."""

    __tablename__ = "tenant_domains"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    domain: Mapped[TextKey]
    mode: Mapped[str]
    role_ids: Mapped[list[UUID]] = mapped_column(sa.ARRAY(sa.Uuid()))
    proof: Mapped[str]
    state: Mapped[str]
    # No foreign key: the domain outlives the account, and then gives no roles automatically.
    set_by: Mapped[UUID | None]
    created_at: Mapped[datetime]
    checked_at: Mapped[datetime]

    __table_args__ = (
        Index("uq_tenant_domains_verified", "domain", unique=True, postgresql_where=text("state = 'verified'")),
        Index("ix_tenant_domains_checked_at", "checked_at", postgresql_where=text("state = 'verified'")),
    )


class JoinRequestRow(IdentityBase):
    """Request of an account to join a tenant."""

    __tablename__ = "join_requests"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    user_id: Mapped[UserKey]
    domain: Mapped[str]
    created_at: Mapped[datetime]
    status: Mapped[str]
    ended_at: Mapped[datetime | None]
    ended_by: Mapped[UUID | None]

    __table_args__ = (
        Index("ix_join_requests_user_id", "user_id"),
        Index("ix_join_requests_pending", "tenant_id", "created_at", postgresql_where=text("status = 'pending'")),
        Index("ix_join_requests_end", literal_column("coalesce(ended_at, created_at)")),
    )


class FormerAddressRow(IdentityBase):
    """Mailbox of a former member, as a keyed digest; references no account, because it outlives the account."""

    __tablename__ = "former_addresses"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    digest: Mapped[bytes] = mapped_column(primary_key=True)
    marked_at: Mapped[datetime]

    __table_args__ = (Index("ix_former_addresses_marked_at", "marked_at"),)


class FormerMemberRow(IdentityBase):
    """Former member of a tenant; a domain does not admit them again."""

    __tablename__ = "former_members"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    user_id: Mapped[UserKey]

    __table_args__ = (Index("ix_former_members_user_id", "user_id"),)


TABLES = tables_of(InvitationRow, TenantDomainRow, JoinRequestRow, FormerAddressRow, FormerMemberRow)
