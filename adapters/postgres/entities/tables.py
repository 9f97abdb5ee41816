"""Additional tables of entities: histories, shares, files of rows, and stored responses to repeated requests."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSON

from adapters.postgres.schema.declarative import NAMES
from adapters.postgres.schema.parts import partitioned
from adapters.postgres.schema.sql import CODE_POINTS

_METADATA = MetaData(naming_convention=NAMES)

# A Core table, not an ORM model: it has no primary key, because shared rows have a null tenant.
HISTORY = Table(
    "row_history",
    _METADATA,
    Column("tenant_id", Uuid()),
    Column("entity", Text(collation=CODE_POINTS), nullable=False),
    Column("row_id", Uuid(), nullable=False),
    Column("version", Integer(), nullable=False),
    Column("action", Text(collation=CODE_POINTS), nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("by", Uuid()),
    Column("changes", JSON(), nullable=False),
    # Not unique, because a unique index must contain the partition key. The row lock already prevents duplicate
    # versions.
    Index("ix_row_history_row", "tenant_id", "entity", "row_id", "version"),
    # BRIN: entries are stored in time order, so few pages hold those past their retention.
    Index("ix_row_history_at", "at", postgresql_using="brin"),
    **partitioned("row_history"),
)
"""One entry per row version."""

_ANSWERS = Table(
    "kept_answers",
    _METADATA,
    Column("tenant_id", Uuid(), primary_key=True),
    Column("user_id", Uuid(), primary_key=True),
    Column("key", Text(collation=CODE_POINTS), primary_key=True),
    Column("fingerprint", Text(collation=CODE_POINTS), nullable=False),
    Column("answer", LargeBinary()),  # null while the first request is being answered
    Column("at", DateTime(timezone=True), nullable=False),
    Index("ix_kept_answers_at", "at"),
)

SHARES = Table(
    "row_shares",
    _METADATA,
    Column("tenant_id", Uuid(), primary_key=True),
    Column("user_id", Uuid(), primary_key=True),
    Column("entity", Text(collation=CODE_POINTS), primary_key=True),
    Column("row_id", Uuid(), primary_key=True),
    Column("level", Text(collation=CODE_POINTS), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("created_by", Uuid()),
    # A share ends with the membership.
    ForeignKeyConstraint(
        ["tenant_id", "user_id"], ["memberships.tenant_id", "memberships.user_id"], ondelete="CASCADE"
    ),
    Index("ix_row_shares_row", "tenant_id", "entity", "row_id"),
)

FILES = Table(
    "files",
    _METADATA,
    Column("tenant_id", Uuid(), primary_key=True),
    Column("id", Uuid(), primary_key=True),
    Column("purpose", Text(collation=CODE_POINTS), nullable=False),
    Column("name", Text(collation=CODE_POINTS), nullable=False),
    Column("type", Text(collation=CODE_POINTS), nullable=False),
    Column("size", BigInteger(), nullable=False),
    Column("sha256", Text(collation=CODE_POINTS), nullable=False),
    Column("width", Integer()),
    Column("height", Integer()),
    Column("sizes", ARRAY(Text(collation=CODE_POINTS)), nullable=False),
    Column("state", Text(collation=CODE_POINTS), nullable=False),
    Column("since", DateTime(timezone=True), nullable=False),  # the begin of the state
    Column("entity", Text(collation=CODE_POINTS)),
    Column("row_id", Uuid()),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("created_by", Uuid()),
    Index("ix_files_since", "since", postgresql_where=text("state <> 'held'")),
    Index("ix_files_row", "tenant_id", "entity", "row_id"),
)
"""Files of rows. The row exists before the store has the content, and until the store has deleted it."""

_FILE_USAGE = Table(
    "file_usage",
    _METADATA,
    Column("tenant_id", Uuid(), primary_key=True),
    Column("bytes", BigInteger(), nullable=False),
    Column("files", Integer(), nullable=False),
)

TABLES = (HISTORY, _ANSWERS, SHARES, FILES, _FILE_USAGE)
