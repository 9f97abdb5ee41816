"""The tables behind identity: users, tenants, roles, sessions and what belongs to them."""

from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    Uuid,
    false,
    literal_column,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import JSONB

from adapters.postgres.schema.sql import CODE_POINTS, IMPORTED, without_case

NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
}
"""How constraints are called, so that a broken one can be told as the field it stands for."""


def add_identity(metadata: MetaData) -> None:
    _add_users(metadata)
    _add_tenants(metadata)
    _add_roles(metadata)
    _add_memberships(metadata)
    _add_sessions(metadata)
    _add_attempts(metadata)
    _add_revocation_counts(metadata)
    _add_permissions(metadata)
    _add_signing_keys(metadata)
    _add_spent_ids(metadata)
    _add_social_identities(metadata)
    _add_outbox(metadata)
    _add_one_time_tokens(metadata)


def _id() -> Column[Any]:
    return Column("id", Uuid(), primary_key=True)


def _text(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, Text(collation=CODE_POINTS), nullable=nullable)


def _flag(name: str, *, on: bool) -> Column[Any]:
    return Column(name, Boolean(), nullable=False, server_default=true() if on else false())


def _time(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, DateTime(timezone=True), nullable=nullable)


def _add_users(metadata: MetaData) -> None:
    Table(
        "users",
        metadata,
        _id(),
        _text("email"),
        _text("email_key"),
        _text("full_name"),
        _text("phone_number", nullable=True),
        _text("profile_picture_url", nullable=True),
        _text("password_hash", nullable=True),
        _flag("email_confirmed", on=False),
        _flag("email_proved", on=False),
        _flag("is_active", on=True),
        _flag("must_change_password", on=False),
        _time("password_set_at", nullable=True),
        _time("created_at"),
        _time("updated_at"),
        _time("last_login_at", nullable=True),
        Index("uq_users_email", "email_key", unique=True),
        Index("ix_users_created_at", "created_at", "id"),
        Index("ix_users_email", "email", "id"),
        Index("ix_users_full_name", "full_name", "id"),
        Index("ix_users_last_login_at", "last_login_at", "id"),
        Index("ix_users_last_login_at_down", literal_column("last_login_at DESC"), "id"),
        Index("ix_users_updated_at", "updated_at", "id"),
        Index("ix_users_is_active", "is_active", "id"),
        Index("ix_users_is_active_down", literal_column("is_active DESC"), "id"),
        Index("ix_users_imported", "id", postgresql_where=text(IMPORTED)),
    )


def _add_tenants(metadata: MetaData) -> None:
    Table(
        "tenants",
        metadata,
        _id(),
        _text("name"),
        _text("identifier"),
        _text("domain", nullable=True),
        _flag("is_active", on=True),
        _time("created_at"),
        Column("settings", JSONB(), nullable=False),
        _time("deleted_at", nullable=True),
        Index("uq_tenants_identifier", "identifier", unique=True, postgresql_where=text("deleted_at IS NULL")),
        Index("ix_tenants_created_at", "created_at", "id"),
    )


def _add_roles(metadata: MetaData) -> None:
    """A role without a tenant belongs to the system; nulls are one value to its unique name."""
    Table(
        "roles",
        metadata,
        _id(),
        Column("tenant_id", Uuid(), ForeignKey("tenants.id")),
        _text("name"),
        _text("description"),
        Column("permissions", ARRAY(Text(collation=CODE_POINTS)), nullable=False),
        Index(
            "uq_roles_name",
            "tenant_id",
            literal_column(without_case("name")),
            unique=True,
            postgresql_nulls_not_distinct=True,
        ),
    )
    Table(
        "user_roles",
        metadata,
        Column("user_id", Uuid(), ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        Column("role_id", Uuid(), ForeignKey("roles.id"), primary_key=True),
        Index("ix_user_roles_role_id", "role_id"),
    )


def _add_memberships(metadata: MetaData) -> None:
    Table(
        "memberships",
        metadata,
        Column("tenant_id", Uuid(), ForeignKey("tenants.id"), primary_key=True),
        Column("user_id", Uuid(), ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        _flag("is_default", on=False),
        _time("joined_at"),
        Index("ix_memberships_user_id", "user_id"),
        Index("uq_memberships_default", "user_id", unique=True, postgresql_where=text("is_default")),
    )
    Table(
        "membership_roles",
        metadata,
        Column("tenant_id", Uuid(), primary_key=True),
        Column("user_id", Uuid(), primary_key=True),
        Column("role_id", Uuid(), ForeignKey("roles.id"), primary_key=True),
        ForeignKeyConstraint(
            ["tenant_id", "user_id"], ["memberships.tenant_id", "memberships.user_id"], ondelete="CASCADE"
        ),
        Index("ix_membership_roles_role_id", "role_id"),
    )


def _add_sessions(metadata: MetaData) -> None:
    """The tenant is no foreign key: a session outlives what its tenant becomes, and is checked at each refresh."""
    Table(
        "sessions",
        metadata,
        _id(),
        Column("user_id", Uuid(), ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        Column("tenant_id", Uuid()),
        Column("counter", Integer(), nullable=False),
        _time("created_at"),
        _time("rotated_at"),
        _time("ended_at", nullable=True),
        _text("app_id", nullable=True),
        _text("address"),
        _text("device"),
        Index("ix_sessions_user_id", "user_id"),
        Index("ix_sessions_created_at", "created_at"),
        Index("ix_sessions_ended_at", "ended_at", postgresql_where=text("ended_at IS NOT NULL")),
    )


def _add_attempts(metadata: MetaData) -> None:
    """The empty network counts for all networks together; ``locks_at`` is how many failures make the lock."""
    Table(
        "login_attempts",
        metadata,
        Column("email_key", Text(collation=CODE_POINTS), primary_key=True),
        Column("network", Text(collation=CODE_POINTS), primary_key=True),
        Column("failures", Integer(), nullable=False),
        Column("locks_at", Integer(), nullable=False),
        _time("locked_until", nullable=True),
        _time("known_at", nullable=True),
        _time("tried_at"),
        Index("ix_login_attempts_tried_at", "tried_at", postgresql_where=text("known_at IS NULL")),
        Index("ix_login_attempts_tried_at_known", "tried_at", postgresql_where=text("known_at IS NOT NULL")),
    )


def _add_revocation_counts(metadata: MetaData) -> None:
    """``raised_at`` is set from when a count rises until the shared copy knows it: the copy's outbox.

    ``ended_at`` is when the last token that names the subject can have been issued.
    """
    Table(
        "revocation_counts",
        metadata,
        Column("subject", Text(collation=CODE_POINTS), primary_key=True),
        Column("count", BigInteger(), nullable=False),
        _time("raised_at", nullable=True),
        _time("ended_at", nullable=True),
        Index("ix_revocation_counts_raised_at", "raised_at", postgresql_where=text("raised_at IS NOT NULL")),
        Index("ix_revocation_counts_ended_at", "ended_at", postgresql_where=text("ended_at IS NOT NULL")),
    )


def _add_permissions(metadata: MetaData) -> None:
    Table(
        "permissions",
        metadata,
        _id(),
        _text("name"),
        _text("description"),
        _text("category"),
        Index("uq_permissions_name", "name", unique=True),
    )


def _add_signing_keys(metadata: MetaData) -> None:
    """``is_first`` can be true once for each purpose: processes that start together agree on one key."""
    Table(
        "signing_keys",
        metadata,
        Column("kid", Text(collation=CODE_POINTS), primary_key=True),
        _text("public"),
        _text("sealed"),
        _time("active_from"),
        Column("purpose", Text(collation=CODE_POINTS), nullable=False, server_default=text("'EdDSA'")),
        _flag("is_first", on=False),
        Index("uq_signing_keys_first", "purpose", unique=True, postgresql_where=text("is_first")),
    )


def _add_spent_ids(metadata: MetaData) -> None:
    Table(
        "spent_ids",
        metadata,
        Column("id", Text(collation=CODE_POINTS), primary_key=True),
        _time("expires_at"),
        Index("ix_spent_ids_expires_at", "expires_at"),
    )


def _add_social_identities(metadata: MetaData) -> None:
    Table(
        "social_identities",
        metadata,
        Column("provider", Text(collation=CODE_POINTS), primary_key=True),
        Column("subject", Text(collation=CODE_POINTS), primary_key=True),
        Column("user_id", Uuid(), ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        _time("linked_at"),
        Index("ix_social_identities_user_id", "user_id"),
    )


def _add_outbox(metadata: MetaData) -> None:
    """``number`` tells which of two links was asked for later, whatever the clocks of the processes say."""
    Table(
        "outbox",
        metadata,
        _id(),
        Column("number", BigInteger(), Identity(always=True), nullable=False),
        _text("kind"),
        _text("recipient"),
        _text("name"),
        _text("address"),
        _time("at"),
        _time("due_at"),
        Column("tries", Integer(), nullable=False, server_default=text("0")),
        _time("given_up_at", nullable=True),
        Column("why", Text(collation=CODE_POINTS), nullable=False, server_default=text("''")),
        _time("tried_again_at", nullable=True),
        Index("ix_outbox_due", "due_at", "number", postgresql_where=text("given_up_at IS NULL")),
        Index("ix_outbox_given_up_at", "given_up_at", postgresql_where=text("given_up_at IS NOT NULL")),
        Index("ix_outbox_number", "number"),
    )


def _add_one_time_tokens(metadata: MetaData) -> None:
    """One row for each user and purpose, so that an older link dies with a newer one."""
    Table(
        "one_time_tokens",
        metadata,
        Column("user_id", Uuid(), ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        Column("purpose", Text(collation=CODE_POINTS), primary_key=True),
        _text("email_key"),
        Column("number", BigInteger(), nullable=False),
        _text("hash"),
        _time("expires_at"),
        _time("used_at", nullable=True),
        Index("uq_one_time_tokens_hash", "hash", unique=True),
        Index("ix_one_time_tokens_expires_at", "expires_at"),
    )
