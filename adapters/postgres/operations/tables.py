"""Models of the outbox and of token versions."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from adapters.postgres.schema.declarative import BigInt, IdentityBase, RowId, TextKey, tables_of


class OutboxMailRow(IdentityBase):
    __tablename__ = "outbox"

    id: Mapped[RowId]
    # Orders links independently of the clocks of processes.
    number: Mapped[BigInt] = mapped_column(sa.Identity(always=True))
    kind: Mapped[str]
    recipient: Mapped[str]
    name: Mapped[str]
    address: Mapped[str]
    at: Mapped[datetime]
    due_at: Mapped[datetime]
    tries: Mapped[int] = mapped_column(server_default=text("0"))
    given_up_at: Mapped[datetime | None]
    why: Mapped[str] = mapped_column(server_default=text("''"))
    tried_again_at: Mapped[datetime | None]
    about: Mapped[str] = mapped_column(server_default=text("''"))
    language: Mapped[str] = mapped_column(server_default=text("''"))

    __table_args__ = (
        Index("ix_outbox_due", "due_at", "number", postgresql_where=text("given_up_at IS NULL")),
        Index("ix_outbox_given_up_at", "given_up_at", postgresql_where=text("given_up_at IS NOT NULL")),
        Index("ix_outbox_number", "number"),
    )


class RevocationCountRow(IdentityBase):
    """Version of a subject's tokens. The table is also the outbox of the shared copy in Redis."""

    __tablename__ = "revocation_counts"

    subject: Mapped[TextKey]
    count: Mapped[BigInt]
    raised_at: Mapped[datetime | None]  # set while the shared copy may lack the count
    ended_at: Mapped[datetime | None]  # time after which the subject receives no tokens

    __table_args__ = (
        Index("ix_revocation_counts_raised_at", "raised_at", postgresql_where=text("raised_at IS NOT NULL")),
        Index("ix_revocation_counts_ended_at", "ended_at", postgresql_where=text("ended_at IS NOT NULL")),
    )


TABLES = tables_of(OutboxMailRow, RevocationCountRow)
