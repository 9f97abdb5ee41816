"""Models of identity's tables: users, tenants, roles, sessions and related data."""

from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import ForeignKey, ForeignKeyConstraint, Index, literal_column, text
from sqlalchemy.orm import Mapped, mapped_column

from adapters.postgres.schema.declarative import (
    BigIntKey,
    DefaultFalse,
    DefaultTrue,
    IdentityBase,
    RowId,
    TextKey,
    UserKey,
    UserReference,
    tables_of,
)
from adapters.postgres.schema.sql import IMPORTED, without_case


class UserRow(IdentityBase):
    __tablename__ = "users"

    id: Mapped[RowId]
    email: Mapped[str]
    email_key: Mapped[str]
    full_name: Mapped[str]
    phone_number: Mapped[str | None]
    profile_picture_url: Mapped[str | None]
    password_hash: Mapped[str | None]
    email_confirmed: Mapped[DefaultFalse]
    email_proved: Mapped[DefaultFalse]
    is_active: Mapped[DefaultTrue]
    must_change_password: Mapped[DefaultFalse]
    password_set_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    last_login_at: Mapped[datetime | None]
    email_proved_at: Mapped[datetime | None]
    webauthn_handle: Mapped[bytes | None]  # random user handle of passkeys, not the id

    __table_args__ = (
        Index("uq_users_email", "email_key", unique=True),
        # One index per order of the user list. The last two columns also have an index for the descending order: many
        # users share a value, and a backward scan would return them in descending order of id.
        Index("ix_users_created_at", "created_at", "id"),
        Index("ix_users_email", "email", "id"),
        Index("ix_users_full_name", "full_name", "id"),
        Index("ix_users_updated_at", "updated_at", "id"),
        Index("ix_users_last_login_at", "last_login_at", "id"),
        Index("ix_users_last_login_at_down", literal_column("last_login_at DESC"), "id"),
        Index("ix_users_is_active", "is_active", "id"),
        Index("ix_users_is_active_down", literal_column("is_active DESC"), "id"),
        Index("ix_users_imported", "id", postgresql_where=text(IMPORTED)),
    )


class TenantRow(IdentityBase):
    __tablename__ = "tenants"

    id: Mapped[RowId]
    name: Mapped[str]
    identifier: Mapped[str]
    domain: Mapped[str | None]
    is_active: Mapped[DefaultTrue]
    created_at: Mapped[datetime]
    settings: Mapped[dict[str, Any]]
    deleted_at: Mapped[datetime | None]

    __table_args__ = (
        # The identifier of a deleted tenant is available again.
        Index("uq_tenants_identifier", "identifier", unique=True, postgresql_where=text("deleted_at IS NULL")),
        Index("ix_tenants_created_at", "created_at", "id"),
    )


class RoleRow(IdentityBase):
    """A role. Without a tenant it is a system role."""

    __tablename__ = "roles"

    id: Mapped[RowId]
    tenant_id: Mapped[UUID | None] = mapped_column(ForeignKey("tenants.id"))
    name: Mapped[str]
    description: Mapped[str]
    permissions: Mapped[list[str]]

    __table_args__ = (
        Index(
            "uq_roles_name",
            "tenant_id",
            literal_column(without_case("name")),
            unique=True,
            # System roles, with a null tenant, need unique names too.
            postgresql_nulls_not_distinct=True,
        ),
    )


class UserRoleRow(IdentityBase):
    """System role held by a user outside all tenants."""

    __tablename__ = "user_roles"

    user_id: Mapped[UserKey]
    role_id: Mapped[UUID] = mapped_column(ForeignKey("roles.id"), primary_key=True)

    __table_args__ = (Index("ix_user_roles_role_id", "role_id"),)


class MembershipRow(IdentityBase):
    __tablename__ = "memberships"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    user_id: Mapped[UserKey]
    is_default: Mapped[DefaultFalse]
    joined_at: Mapped[datetime]
    is_owner: Mapped[DefaultFalse]
    sessions_ended_at: Mapped[datetime | None]

    __table_args__ = (
        Index("ix_memberships_user_id", "user_id"),
        Index("ix_memberships_owners", "tenant_id", postgresql_where=text("is_owner")),
        Index("uq_memberships_default", "user_id", unique=True, postgresql_where=text("is_default")),
    )


class MembershipRoleRow(IdentityBase):
    __tablename__ = "membership_roles"

    tenant_id: Mapped[RowId]
    user_id: Mapped[RowId]
    role_id: Mapped[UUID] = mapped_column(ForeignKey("roles.id"), primary_key=True)

    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "user_id"], ["memberships.tenant_id", "memberships.user_id"], ondelete="CASCADE"
        ),
        # The tenant is included: every tenant has Admin, and queries concern one.
        Index("ix_membership_roles_role", "role_id", "tenant_id"),
    )


class SessionRow(IdentityBase):
    __tablename__ = "sessions"

    id: Mapped[RowId]
    user_id: Mapped[UserReference]
    # No foreign key: a session may outlive its tenant. Each refresh checks the tenant.
    tenant_id: Mapped[UUID | None]
    counter: Mapped[int]
    created_at: Mapped[datetime]
    rotated_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    app_id: Mapped[str | None]
    address: Mapped[str]
    device: Mapped[str]
    methods: Mapped[list[str]] = mapped_column(server_default=text("'{}'"))
    authenticated_at: Mapped[datetime | None]
    is_first_login: Mapped[bool] = mapped_column(server_default=text("false"))

    __table_args__ = (
        Index("ix_sessions_user_id", "user_id"),
        Index("ix_sessions_created_at", "created_at"),
        Index("ix_sessions_ended_at", "ended_at", postgresql_where=text("ended_at IS NOT NULL")),
    )


class LoginAttemptRow(IdentityBase):
    """Failed logins to an e-mail address from a network; the empty network counts all networks together."""

    __tablename__ = "login_attempts"

    email_key: Mapped[TextKey]
    network: Mapped[TextKey]
    failures: Mapped[int]
    locks_at: Mapped[int]  # failures that lock the address
    locks: Mapped[int] = mapped_column(server_default=text("0"))  # consecutive locks, including the current one
    locked_until: Mapped[datetime | None]
    known_at: Mapped[datetime | None]
    tried_at: Mapped[datetime]

    __table_args__ = (
        Index("ix_login_attempts_tried_at", "tried_at", postgresql_where=text("known_at IS NULL")),
        Index("ix_login_attempts_tried_at_known", "tried_at", postgresql_where=text("known_at IS NOT NULL")),
    )


class PermissionRow(IdentityBase):
    __tablename__ = "permissions"

    id: Mapped[RowId]
    name: Mapped[str]
    description: Mapped[str]
    category: Mapped[str]

    __table_args__ = (Index("uq_permissions_name", "name", unique=True),)


class SigningKeyRow(IdentityBase):
    __tablename__ = "signing_keys"

    kid: Mapped[TextKey]
    public: Mapped[str]
    sealed: Mapped[str]
    active_from: Mapped[datetime]
    purpose: Mapped[str] = mapped_column(server_default=text("'EdDSA'"))
    is_first: Mapped[DefaultFalse]

    __table_args__ = (
        # One first key per purpose, even if processes start together.
        Index("uq_signing_keys_first", "purpose", unique=True, postgresql_where=text("is_first")),
    )


class UsedNonceRow(IdentityBase):
    """Id of an encrypted password, stored until it expires to refuse its reuse."""

    __tablename__ = "spent_ids"

    id: Mapped[TextKey]
    expires_at: Mapped[datetime]

    __table_args__ = (Index("ix_spent_ids_expires_at", "expires_at"),)


class SocialIdentityRow(IdentityBase):
    __tablename__ = "social_identities"

    provider: Mapped[TextKey]
    subject: Mapped[TextKey]
    user_id: Mapped[UserReference]
    linked_at: Mapped[datetime]

    __table_args__ = (Index("ix_social_identities_user_id", "user_id"),)


class OneTimeTokenRow(IdentityBase):
    """Mailed link; a user may have several links per purpose."""

    __tablename__ = "one_time_tokens"

    user_id: Mapped[UserKey]
    purpose: Mapped[TextKey]
    number: Mapped[BigIntKey]
    email_key: Mapped[str]
    hash: Mapped[str]
    issued_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    __table_args__ = (
        Index("uq_one_time_tokens_hash", "hash", unique=True),
        Index("ix_one_time_tokens_expires_at", "expires_at"),
    )


class EmailChangeRow(IdentityBase):
    """Requested new address of an account, until its proof."""

    __tablename__ = "email_changes"

    user_id: Mapped[UserKey]
    email: Mapped[str]
    email_key: Mapped[str]
    hash: Mapped[str]
    requested_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    mailed_at: Mapped[list[datetime]] = mapped_column(sa.ARRAY(sa.DateTime(timezone=True)), server_default=text("'{}'"))

    __table_args__ = (
        Index("uq_email_changes_hash", "hash", unique=True),
        Index("ix_email_changes_expires_at", "expires_at"),
    )


TABLES = tables_of(
    UserRow,
    TenantRow,
    RoleRow,
    UserRoleRow,
    MembershipRow,
    MembershipRoleRow,
    SessionRow,
    LoginAttemptRow,
    PermissionRow,
    SigningKeyRow,
    UsedNonceRow,
    SocialIdentityRow,
    OneTimeTokenRow,
    EmailChangeRow,
)
