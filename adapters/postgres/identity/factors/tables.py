"""Models of second factors and recovery codes."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from adapters.postgres.schema.declarative import BigInt, IdentityBase, RowId, UserKey, UserReference, tables_of


class FactorRow(IdentityBase):
    """Second factor of a user: an authenticator app (``totp``) or a passkey. The columns of the other kind are null."""

    __tablename__ = "factors"

    id: Mapped[RowId]
    user_id: Mapped[UserReference]
    kind: Mapped[str]
    name: Mapped[str]
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    sealed: Mapped[str | None]
    last_step: Mapped[BigInt]
    credential_id: Mapped[bytes | None]
    public_key: Mapped[bytes | None]
    counter: Mapped[int | None] = mapped_column(sa.BigInteger())
    transports: Mapped[list[str] | None]
    aaguid: Mapped[UUID | None]
    backup_eligible: Mapped[bool | None]
    backed_up: Mapped[bool | None]
    uv_initialized: Mapped[bool | None]

    __table_args__ = (
        Index("ix_factors_user_id", "user_id"),
        Index("uq_factors_credential_id", "credential_id", unique=True),
    )


class RecoveryCodeRow(IdentityBase):
    __tablename__ = "recovery_codes"

    user_id: Mapped[UserKey]
    hash: Mapped[bytes] = mapped_column(primary_key=True)
    used_at: Mapped[datetime | None]


TABLES = tables_of(FactorRow, RecoveryCodeRow)
